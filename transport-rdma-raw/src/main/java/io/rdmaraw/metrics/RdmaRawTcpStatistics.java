package io.rdmaraw.metrics;

import java.util.concurrent.CompletableFuture;

/**
 * The TCP counters of one loop on one device, summed over all connections.
 * {@link RdmaRawQueueStatistics#channels()} contains them under the name {@code tcp}. For a single connection,
 * see {@code RdmaRawSocketChannel.tcpInfo()}. Readable on any thread; values may be slightly stale, since the
 * loop counts with plain stores.
 */
public interface RdmaRawTcpStatistics extends RdmaRawMetered {
    /**
     * Requests a snapshot of the listeners and connections. May be called on any thread; the loop takes the
     * snapshot in its next turn.
     *
     * @param maxConnections maximum number of connections to return, 0 or more; the busiest are returned
     * @return completed on the loop; fails if the loop has terminated
     */
    CompletableFuture<RdmaRawTcpSockets> sockets(int maxConnections);
}
