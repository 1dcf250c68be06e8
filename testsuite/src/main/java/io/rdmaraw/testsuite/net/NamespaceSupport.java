package io.rdmaraw.testsuite.net;

import java.io.UncheckedIOException;
import java.util.List;
import java.util.Optional;

/**
 * Determines, once, whether this process can create network namespaces. In a container, root may lack the capabilities.
 * With {@code -Drdmaraw.namespaces=never}, nothing is tried, and the tests that need namespaces are skipped.
 */
public final class NamespaceSupport {
    private static final Optional<String> UNAVAILABLE_REASON = findOut();

    private NamespaceSupport() {
    }

    /** Returns why namespaces cannot be created, or empty if they can. */
    public static Optional<String> unavailableReason() {
        return UNAVAILABLE_REASON;
    }

    /**
     * Same as {@link #unavailableReason()} for tests that also need these programs. Each one is run with {@code
     * --version}.
     */
    static Optional<String> unavailableReason(List<String> programs) {
        return UNAVAILABLE_REASON.or(() -> tried(() -> programs.forEach(NamespaceSupport::runVersion)));
    }

    private static void runVersion(String program) {
        PeerProcess.run(List.of(program, "--version"), Await.PATIENCE).orThrow();
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
