package io.rdmaraw.metrics;

import java.util.concurrent.CompletableFuture;

/**
 * What the TCP of one loop on one device has counted, over all of its connections. Written by the loop with plain
 * stores; other threads read values that may be slightly stale. {@link RdmaRawPortStatistics#channels()} has it under
 * the name {@code tcp}. For a single connection see {@code RdmaRawSocketChannel.tcpInfo()}.
 */
public interface RdmaRawTcpStatistics extends RdmaRawMetered {
    /**
     * Asks the loop which servers and connections it has. Any thread; the loop answers in its next turn.
     *
     * @param most maximum number of connections to return, the busiest; 0 or more
     * @return completed on the loop; fails when the loop has ended
     */
    CompletableFuture<RdmaRawTcpSockets> sockets(int most);
}
