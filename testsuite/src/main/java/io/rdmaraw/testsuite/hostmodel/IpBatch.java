package io.rdmaraw.testsuite.hostmodel;

import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;

import java.util.List;

/** A process of {@code ip -batch} that runs as long as the namespace, so that commands need no process each. */
final class IpBatch implements AutoCloseable {
    private final PeerProcess process;

    /**
     * Starts the process.
     *
     * @param family {@code -4} or {@code -6}; the lines of a batch cannot select the family
     */
    IpBatch(NetworkNamespace namespace, String family) {
        process = namespace.start("ip", family, "-force", "-batch", "-");
    }

    /** Passes on commands, which run in this order. Wait for the effect of the last one. */
    void send(List<String> commands) {
        process.send(String.join("\n", commands) + "\n");
    }

    /** Returns everything that was printed, including errors. */
    String output() {
        return process.output();
    }

    /** Returns whether the process is running. Some syntax errors end it even with {@code -force}. */
    boolean isAlive() {
        return process.isAlive();
    }

    @Override
    public void close() {
        process.close();
    }
}
