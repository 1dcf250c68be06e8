package io.rdmaraw.metrics;

import io.netty.util.internal.UnstableApi;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;

/**
 * The servers and connections of one loop's TCP at one moment, as {@code ss -ti} shows those of the kernel.
 *
 * @param listeners   ports that are listened on
 * @param byState     connections by their state of RFC 9293; those in TIME-WAIT are not among them
 * @param connections those with the most bytes, the busiest first
 */
@UnstableApi
public record RdmaRawTcpSockets(List<Listener> listeners, Map<String, Integer> byState, List<Connection> connections) {
    /** Maximum number of connections that are examined; of more, {@link #byState} and the choice are a sample. */
    public static final int LOOKED_AT = 65_536;

    /**
     * A server's port on one loop.
     *
     * @param local    the address, which may be the wildcard
     * @param halfOpen connections whose handshake is under way
     * @param backlog  how many of them there may be before cookies take their place
     */
    public record Listener(InetSocketAddress local, int halfOpen, int backlog) {
    }

    /** A connection and where it stands. */
    public record Connection(InetSocketAddress local, InetSocketAddress remote, RdmaRawTcpInfo info) {
    }
}
