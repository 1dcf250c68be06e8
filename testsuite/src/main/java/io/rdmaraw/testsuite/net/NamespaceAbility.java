package io.rdmaraw.testsuite.net;

import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Whether this process can make network namespaces. It tries once: to be root is not enough in a container without the
 * capabilities. With {@code -Drdmaraw.namespaces=never} it does not try, and tests that need them are skipped.
 */
public final class NamespaceAbility {
    private static final Duration LIMIT = Duration.ofSeconds(10);
    private static final Optional<String> REASON_AGAINST = findOut();

    private NamespaceAbility() {
    }

    /** Why namespaces cannot be made; empty when they can. */
    public static Optional<String> reasonAgainst() {
        return REASON_AGAINST;
    }

    /** As {@link #reasonAgainst()}, for tests that need these programs, too. Each is run with {@code --version}. */
    static Optional<String> reasonAgainst(List<String> programs) {
        return REASON_AGAINST.or(() -> tried(() -> programs.forEach(NamespaceAbility::runVersion)));
    }

    private static void runVersion(String program) {
        PeerProcess.run(List.of(program, "--version"), LIMIT).orThrow();
    }

    private static Optional<String> findOut() {
        if ("never".equals(System.getProperty("rdmaraw.namespaces"))) {
            return Optional.of("makes network namespaces, and -Drdmaraw.namespaces=never forbids it");
        }
        return tried(() -> {
            Leftovers.remove();
            NetworkNamespace.create(NetworkNames.nextNumber()).close();
        });
    }

    private static Optional<String> tried(Runnable attempt) {
        try {
            attempt.run();
            return Optional.empty();
        } catch (UncheckedIOException | IllegalStateException e) {
            return Optional.of("needs network namespaces (root, or CAP_SYS_ADMIN and CAP_NET_ADMIN) and the"
                    + " programs ip, ethtool and tcpdump: " + e.getMessage());
        }
    }
}
