package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/** What the TCP of a loop asks of the IP network under it. For the loop's thread. */
public interface TcpNetwork {
    /**
     * What a listener's rules take from the kernel.
     *
     * @param linkIndex the link that it comes in by
     * @param addresses its destinations
     */
    record Steered(int linkIndex, List<IpAddress> addresses) {
    }

    /** A port that was taken. */
    interface Binding {
        /** Returns the address, which may be a wildcard for listeners. */
        IpAddress local();

        /** Returns the port. */
        int port();

        /**
         * Returns the rules that steer what comes to the port, none when the stack's own rules do. A listener's are
         * those for the host's addresses of now, on any thread.
         */
        List<FlowSpec> flows();

        /** Returns what some of the rules of a listener take from the kernel; null where it has no part in it. */
        default Steered steered(List<FlowSpec> rules) {
            return null;
        }

        /**
         * Says whether a server listens on the port, as at first, or only connections keep it: another server may
         * listen beside them then.
         */
        default void setListening(boolean listening) {
        }

        /** Gives the port back. */
        void close();
    }

    /** The stack of this loop is there now; it takes ICMP errors on any thread. */
    default void joined(PortOwner stack) {
    }

    /** The stack of this loop ends. */
    default void left(PortOwner stack) {
    }

    /** Tells whether an IPv4 address means all hosts of a subnet of this host's. */
    default boolean isBroadcast(int ipv4) {
        return false;
    }

    /** A router on the way to a peer has said, and the connection believes, how long packets may be. */
    default void tooBig(IpAddress remote, int mtuBytes) {
    }

    /** Returns the rules that steer to the stack what is for none of its bindings' rules. */
    List<FlowSpec> flows();

    /**
     * Takes a port to listen on.
     *
     * @param local address and port, either may be a wildcard
     * @throws IOException when the address is not there or the port is taken
     */
    Binding listen(InetSocketAddress local, PortSharing sharing) throws IOException;

    /**
     * Takes part in what another loop's network listens on.
     *
     * @return this loop's share, to be closed with the port; null when there is nothing to it
     */
    default Binding join(Binding listening) {
        return null;
    }

    /** Has something done on the loop whenever the rules of listeners may have become others. */
    default void follow(Runnable onHostChange) {
    }

    /** Does it no more. */
    default void unfollow(Runnable onHostChange) {
    }

    /**
     * Tells whether a received segment's destination is a unicast address of this host that others may send to. One for
     * any other address is neither answered nor taken (RFC 1122 sections 3.2.1.3 and 4.2.3.10).
     */
    default boolean isOurs(long destinationHigh, long destinationLow) {
        return true;
    }

    /** Tells whether bindings have rules of their own, which several loops may share. */
    boolean isSteered();

    /**
     * Takes a local address and port to connect from.
     *
     * @param localOrNull what the user chose, either part may be a wildcard
     * @param mark the connection's {@code SO_MARK}, which its route may depend on; 0 for none
     * @throws IOException when there is no way to the peer, or the port is taken
     */
    Binding connect(InetSocketAddress localOrNull, IpAddress remote, int remotePort, int mark) throws IOException;

    /**
     * Checks an address to connect from.
     *
     * @throws IOException when this host does not have it
     */
    void checkLocal(IpAddress local) throws IOException;

    /** Tells whether the kernel has sockets on the same addresses, so that a listener's port is its port too. */
    boolean isKernelServed();

    /** Returns the index of the link that the device receives by, 0 where there is none now. */
    default int linkIndex() {
        return 0;
    }

    /**
     * Tells whether the kernel, and not the device's link, leads to this peer.
     *
     * @param localOrNull what the user chose to connect from, either part may be a wildcard
     * @param remote no wildcard
     * @param mark the connection's {@code SO_MARK}, 0 for none
     */
    default boolean isForKernel(InetSocketAddress localOrNull, InetAddress remote, int mark) {
        return false;
    }

    /** Keeps a packet until its next hop's address is known, or newer ones take its place. */
    void await(PendingPacket packet);

    /** Has a next hop's address found out for what does not wait for it. */
    default void request(NextHop hop) {
    }

    /** Those who are sent to by a hop do not answer: it is asked again whether it is there (RFC 4861 section 7.3.1). */
    default void suspect(NextHop hop) {
    }

    /** Returns a number that changes when paths found before may be wrong. */
    long generation();

    /**
     * Finds the way of segments, or null when there is none.
     *
     * @param source of our segments, as are the other addresses
     * @param mark the connection's {@code SO_MARK}, 0 for none
     */
    TcpPath path(long sourceHigh, long sourceLow, int sourcePort, long targetHigh, long targetLow, int targetPort,
                 int mark);

    /**
     * Finds the way of a reply to an unknown sender, which need not be where its packets say: as {@link #path}, but
     * {@link TcpPath#NOT_ASKED} when too many such ways have been looked for.
     */
    default TcpPath pathOfReply(long sourceHigh, long sourceLow, int sourcePort, long targetHigh, long targetLow,
                                   int targetPort, int mark) {
        return path(sourceHigh, sourceLow, sourcePort, targetHigh, targetLow, targetPort, mark);
    }
}
