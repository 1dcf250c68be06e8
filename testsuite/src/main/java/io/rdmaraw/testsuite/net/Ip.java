package io.rdmaraw.testsuite.net;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The {@code ip} program of iproute2. */
final class Ip {
    private static final Duration LIMIT = Duration.ofSeconds(30);

    private Ip() {
    }

    static CommandResult run(String... arguments) {
        return attempt(arguments).orThrow();
    }

    /** As {@link #run}, but a failure is only a result. */
    static CommandResult attempt(String... arguments) {
        List<String> command = new ArrayList<>(List.of("ip"));
        command.addAll(List.of(arguments));
        return PeerProcess.run(command, LIMIT);
    }
}
