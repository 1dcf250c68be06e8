package io.rdmaraw.channel;

import io.rdmaraw.route.IpAddress;
import io.rdmaraw.tcp.TcpCensus;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpListener;

import java.net.InetSocketAddress;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The servers and connections of one loop's TCP at one moment, as {@code ss -ti} shows those of the kernel.
 *
 * @param listeners   ports that are listened on
 * @param byState     connections by their state of RFC 9293; those in TIME-WAIT are not among them
 * @param connections those with the most bytes, the busiest first
 */
public record RdmaRawTcpSockets(List<Listener> listeners, Map<String, Integer> byState, List<Connection> connections) {
    /** Connections that are looked at; with more of them {@link #byState} and the choice are of so many. */
    public static final int LOOKED_AT = 65_536;

    /**
     * A server's port on one loop.
     *
     * @param local    the address, perhaps the wildcard
     * @param halfOpen connections whose handshake is under way
     * @param backlog  how many of them there may be before cookies take their place
     */
    public record Listener(InetSocketAddress local, int halfOpen, int backlog) {
    }

    /** A connection and where it stands. */
    public record Connection(InetSocketAddress local, InetSocketAddress remote, RdmaRawTcpInfo info) {
    }

    static RdmaRawTcpSockets of(TcpCensus census) {
        Map<String, Integer> byState = new TreeMap<>();
        census.byState().forEach((state, count) -> byState.put(state.name(), count));
        return new RdmaRawTcpSockets(census.listeners().stream().map(RdmaRawTcpSockets::of).toList(),
                Collections.unmodifiableMap(byState), census.busiest().stream().map(RdmaRawTcpSockets::of).toList());
    }

    private static Listener of(TcpListener listener) {
        IpAddress address = new IpAddress(listener.localHigh(), listener.localLow());
        return new Listener(address.isAny() ? new InetSocketAddress(listener.localPort())
                : new InetSocketAddress(address.toInetAddress(), listener.localPort()), listener.halfOpen(),
                listener.backlog());
    }

    private static Connection of(TcpConnection c) {
        return new Connection(TcpFlow.localOf(c), TcpFlow.remoteOf(c),
                RdmaRawTcpInfo.of(c.info()));
    }
}
