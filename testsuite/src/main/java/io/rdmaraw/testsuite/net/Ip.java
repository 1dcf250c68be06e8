package io.rdmaraw.testsuite.net;

import java.util.ArrayList;
import java.util.List;

/** Runs the {@code ip} program of iproute2. */
final class Ip {
    private Ip() {
    }

    static CommandResult run(String... arguments) {
        return attempt(arguments).orThrow();
    }

    /** Same as {@link #run}, but returns the result if the program fails. */
    static CommandResult attempt(String... arguments) {
        List<String> command = new ArrayList<>(List.of("ip"));
        command.addAll(List.of(arguments));
        return PeerProcess.run(command, Await.PATIENCE);
    }
}
