package io.rdmaraw.host;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.net.SourceFilter;
import io.rdmaraw.net.socket.NumberedOptions;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;

/** The IP network of one datagram channel. Used on the loop's thread only, except {@link #unbind()}. */
public interface DatagramNetwork {
    /** The options of the channel. They are read on every use because the user may change them. */
    interface Options {
        /** Returns which other sockets may use the port. */
        PortSharing portSharing();

        /** Returns whether the channel may send to broadcast addresses. */
        boolean isBroadcast();

        /** Returns whether the channel should have a kernel socket on its port. */
        boolean isKernelSocket();

        /** Returns the {@code SO_MARK} of the channel's datagrams for policy routing; 0 if unset. */
        int mark();

        /** Returns the options of the kernel socket that are given by number. */
        NumberedOptions kernelOptions();

        /** Returns the source address for multicast datagrams; null if the user has not set one. */
        InetAddress groupSourceOrNull(boolean ipv4);
    }

    /** Returns the name of the device that the channel uses. */
    String deviceName();

    /**
     * Moves the network to a loop. The next hops and path MTUs of that loop are used from now on, and paths found
     * earlier must not be used any more. Must be called before paths are resolved on the loop.
     */
    default void moveTo(IpContext ipContext, ScheduledExecutorService loop) {
    }

    /**
     * Binds the channel to a port.
     *
     * @param local address and port; either may be a wildcard
     * @return the address with the port number
     * @throws IOException if the address is not local or the port is in use
     */
    InetSocketAddress bind(InetSocketAddress local) throws IOException;

    /**
     * Connects the bound port to a peer.
     *
     * @return the new local address; if it was a wildcard, a source address has been selected
     * @throws IOException if there is no route to the peer
     */
    InetSocketAddress connect(InetSocketAddress remote) throws IOException;

    /** Disconnects the port from its peer. Returns the new local address. */
    InetSocketAddress disconnect() throws IOException;

    /** Releases the port. May be called on any thread. */
    void unbind();

    /** Returns the flow rules for the channel's unicast and broadcast datagrams. */
    List<FlowSpec> flows();

    /** Returns the flow rules that the channel shares with channels of the same port on other loops. */
    List<FlowSpec> rssFlows();

    /**
     * Returns replacement rules for a device that has no room for the channel's rules. They are fewer and match more
     * packets. The list is empty if the kernel socket receives all datagrams instead.
     */
    List<FlowSpec> coarseFlows();

    /**
     * Returns whether the kernel socket or the rule of a userspace host receives the datagrams that no other rule
     * matches.
     */
    boolean hasFallbackReceiver();

    /** Returns the flow rules for the datagrams of a multicast group. */
    List<FlowSpec> groupFlows(InetSocketAddress group);

    /**
     * Announces a change of a group membership to the routers and switches of the link, if this network does that.
     *
     * @param change the change
     * @param filter the sources that the channel accepts after the change
     * @throws IOException if the group cannot be joined
     */
    default void announce(GroupChange change, SourceFilter filter) throws IOException {
    }

    /** Returns a number that changes when paths found earlier may have become invalid. */
    long generation();

    /** Returns the scope id for link-local IPv6 addresses (RFC 4007 section 6); 0 if the host has no links. */
    default int scopeId() {
        return 0;
    }

    /**
     * Returns whether the source address of a received datagram must be forged: it is an address of this host, or the
     * broadcast address of a subnet.
     */
    default boolean isMartianSource(long high, long low) {
        return false;
    }

    /**
     * Returns whether an address is one of this host or a broadcast address of its subnets. The check is needed because
     * the rule for broadcasts matches every destination.
     */
    default boolean isForHost(long high, long low) {
        return true;
    }

    /** Returns whether datagrams never leave this host. Groups then have no members elsewhere. */
    default boolean isWithinHost() {
        return false;
    }

    /**
     * Delivers a datagram to another port of this host. Used for paths of the kind {@link DatagramPath.Kind#SELF}.
     *
     * @param content read by index; the caller retains its reference
     * @return false if the port is closed
     */
    default boolean deliverLocally(DatagramPath path, ByteBuf content, int index, int lengthBytes) {
        throw new UnsupportedOperationException("this network has no such paths");
    }

    /**
     * Finds the path to a destination.
     *
     * @param sourceOrNull source address set by the user for a channel that is bound to a wildcard, or null
     * @throws IOException if there is no path
     */
    DatagramPath resolve(InetSocketAddress destination, InetSocketAddress sourceOrNull) throws IOException;
}
