package io.rdmaraw.metrics;

import io.netty.util.internal.UnstableApi;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;

/**
 * A snapshot of the listeners and connections of one loop's TCP stack, comparable to the output of
 * {@code ss -ti}.
 *
 * @param listeners    the listening ports
 * @param countByState number of connections by state of RFC 9293, without those in TIME-WAIT
 * @param connections  the connections with the most traffic, the busiest first
 */
@UnstableApi
public record RdmaRawTcpSockets(List<Listener> listeners, Map<String, Integer> countByState,
                                List<Connection> connections) {
    /**
     * Maximum number of connections that are examined. If there are more, {@link #countByState} and
     * {@link #connections} are based on a sample.
     */
    public static final int MAX_EXAMINED = 65_536;

    /**
     * A listening port on one loop.
     *
     * @param local    the local address, possibly the wildcard address
     * @param halfOpen number of connections with an incomplete handshake
     * @param backlog  maximum of {@code halfOpen}; beyond it, SYN cookies are sent
     */
    public record Listener(InetSocketAddress local, int halfOpen, int backlog) {
    }

    /**
     * A connection and its state.
     *
     * @param local  the local address
     * @param remote the peer's address
     * @param info   the state
     */
    public record Connection(InetSocketAddress local, InetSocketAddress remote, RdmaRawTcpInfo info) {
    }
}
