package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/** The IP network of one loop's TCP. Used on the loop's thread only, unless a method says otherwise. */
public interface TcpNetwork {
    /**
     * The packets that the rules of a listener match.
     *
     * @param linkIndex the link that the packets arrive on
     * @param addresses their destination addresses
     */
    record SteeredAddresses(int linkIndex, List<IpAddress> addresses) {
    }

    /** A bound port. */
    interface Binding {
        /** Returns the local address, which may be a wildcard for listeners. */
        IpAddress local();

        int port();

        /**
         * Returns the flow rules for the port; none if the rules of the stack cover it. They match the host's present
         * MAC and IP addresses. For a listener this may be called on any thread.
         */
        List<FlowSpec> flows();

        /**
         * Returns the packets matched by some rules of a listener; null if the kernel does not use the same addresses.
         */
        default SteeredAddresses steeredAddresses(List<FlowSpec> rules) {
            return null;
        }

        /**
         * Sets whether a server listens on the port, which is the initial state, or only connections use it. In the
         * latter case another server may listen on the port.
         */
        default void setListening(boolean listening) {
        }

        /** Releases the port. */
        void close();
    }

    /** Reports that the stack of this loop has started. It accepts ICMP errors on any thread. */
    default void stackStarted(PortOwner stack) {
    }

    /** Reports that the stack of this loop has ended. */
    default void stackStopped(PortOwner stack) {
    }

    /** Returns whether an IPv4 address is the broadcast address of a subnet of this host. */
    default boolean isBroadcast(int ipv4) {
        return false;
    }

    /** Returns the scope id for link-local IPv6 addresses (RFC 4007 section 6); 0 if the host has no links. */
    default int scopeId() {
        return 0;
    }

    /**
     * Returns whether the source address of a received segment must be forged: it is an address of this host, or the
     * broadcast address of a subnet.
     */
    default boolean isMartianSource(long high, long low) {
        return false;
    }

    /** Records the MTU of the path to a peer. A router has reported it, and the connection has accepted it. */
    default void recordPathMtu(IpAddress remote, int mtuBytes) {
    }

    /** Returns the rules of the stack. They match segments that no rule of a binding matches. */
    List<FlowSpec> flows();

    /**
     * Binds a port for a listener.
     *
     * @param local address and port; either may be a wildcard
     * @throws IOException if the address is not local or the port is in use
     */
    Binding listen(InetSocketAddress local, PortSharing sharing) throws IOException;

    /**
     * Adds this loop to a listener that another loop's network has bound.
     *
     * @return this loop's part, to be closed with the port; null if there is nothing to close
     */
    default Binding joinListener(Binding listening) {
        return null;
    }

    /** Adds an action that runs on the loop whenever the rules of bindings may have changed. */
    default void addHostChangeListener(Runnable onHostChange) {
    }

    /** Removes the action. */
    default void removeHostChangeListener(Runnable onHostChange) {
    }

    /**
     * Returns whether a destination is a unicast address of this host that other hosts may use. Segments for other
     * destinations are neither accepted nor answered (RFC 1122 sections 3.2.1.3 and 4.2.3.10).
     */
    default boolean isLocalUnicast(long destinationHigh, long destinationLow) {
        return true;
    }

    /** Returns whether each binding has separate rules, which several loops may share. */
    boolean hasRulesPerBinding();

    /**
     * Binds a local address and port for a connection.
     *
     * @param localOrNull address and port set by the user; either may be a wildcard
     * @param mark {@code SO_MARK} of the connection, because its route may depend on it; 0 if unset
     * @throws IOException if there is no path to the peer or the port is in use
     */
    Binding connect(InetSocketAddress localOrNull, IpAddress remote, int remotePort, int mark) throws IOException;

    /**
     * Binds a local port for a connection that has no peer yet. No rule leads to the port. It must be released before
     * {@link #connect} binds it.
     *
     * @param local address and port; either may be a wildcard
     * @throws IOException if the address is not local or the port is in use
     */
    Binding reserve(InetSocketAddress local) throws IOException;

    /**
     * Checks a local address for a connection.
     *
     * @throws IOException if this host does not have the address
     */
    void checkLocal(IpAddress local) throws IOException;

    /**
     * Returns whether the kernel has sockets on the same addresses, so that a listener also needs the port in the
     * kernel.
     */
    boolean isKernelServed();

    /** Returns the index of the link that the device is attached to; 0 if it has none now. */
    default int linkIndex() {
        return 0;
    }

    /**
     * Returns whether the kernel must carry a connection to this peer because the device's link does not lead there.
     *
     * @param localOrNull local address and port set by the user; either may be a wildcard
     * @param remote the peer, not a wildcard
     * @param mark {@code SO_MARK} of the connection; 0 if unset
     */
    default boolean isForKernel(InetSocketAddress localOrNull, InetAddress remote, int mark) {
        return false;
    }

    /** Queues a packet until its next hop is resolved. Newer packets may displace it. */
    void sendWhenResolved(PendingPacket packet);

    /** Resolves a next hop for a packet that is not queued. */
    default void solicit(NextHop hop) {
    }

    /**
     * Checks whether a next hop is still reachable, because peers behind it do not respond (RFC 4861 section 7.3.1).
     */
    default void suspect(NextHop hop) {
    }

    /** Returns a number that changes when paths found earlier may have become invalid. */
    long generation();

    /**
     * Finds the path for outgoing segments. Returns null if there is none, or {@link TcpPath#OTHER_LINK} if the device
     * does not lead to the peer.
     *
     * @param sourceHigh upper half of our address; see {@link IpAddress}
     * @param targetHigh upper half of the peer's address
     * @param mark {@code SO_MARK} of the connection; 0 if unset
     * @param peerMac source MAC address of the peer's segments, used as next hop if the route uses another link; 0 if
     *     unknown
     */
    TcpPath path(long sourceHigh, long sourceLow, int sourcePort, long targetHigh, long targetLow, int targetPort,
                 int mark, long peerMac);

    /**
     * Finds the path for a reply to an unknown sender, which may have forged its address. Like {@link #path}, but
     * returns {@link TcpPath#LOOKUP_LIMITED} if the rate limit for such lookups is reached.
     */
    default TcpPath replyPath(long sourceHigh, long sourceLow, int sourcePort, long targetHigh, long targetLow,
                                   int targetPort, int mark, long peerMac) {
        return path(sourceHigh, sourceLow, sourcePort, targetHigh, targetLow, targetPort, mark, peerMac);
    }
}
