package io.rdmaraw.host;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.net.SourceFilter;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;

/**
 * What a datagram channel asks of the IP network under it. Made for one channel; for its loop's thread, except
 * {@link #unbind()}.
 */
public interface DatagramNetwork {
    /** The channel's settings; read on every use because the user may change them. */
    interface Options {
        /** Returns who else may have the port. */
        PortSharing portSharing();

        /** Tells whether the channel may send to broadcast addresses. */
        boolean isBroadcast();

        /** Tells whether the channel is to have a kernel socket on its port. */
        boolean isKernelSocket();

        /** Returns what policy rules may ask for of the channel's datagrams ({@code SO_MARK}), 0 for nothing. */
        int mark();

        /** Returns the address that datagrams to groups come from, or null when none was chosen. */
        InetAddress groupSourceOrNull(boolean ipv4);
    }

    /** Returns the device whose queue the channel uses. */
    String deviceName();

    /**
     * The channel is on this loop from now on, whose next hops and narrow paths are its own. Called before paths are
     * resolved there; those that were found before are not to be used any more.
     */
    default void moveTo(IpContext hostView, ScheduledExecutorService loop) {
    }

    /**
     * Takes a port for the channel.
     *
     * @param local address and port, either may be a wildcard
     * @return the address with the port that was taken
     * @throws IOException when the address is not there or the port is taken
     */
    InetSocketAddress bind(InetSocketAddress local) throws IOException;

    /**
     * Ties the bound port to a peer.
     *
     * @return the local address from now on, a source address chosen if it was a wildcard
     * @throws IOException when there is no way to the peer
     */
    InetSocketAddress connect(InetSocketAddress remote) throws IOException;

    /** Unties the port from its peer; returns the local address from now on. */
    InetSocketAddress disconnect() throws IOException;

    /** Gives the port back. Any thread. */
    void unbind();

    /** Returns the rules that steer the channel's unicast and broadcast datagrams to its queue. */
    List<FlowSpec> flows();

    /** Returns those of the channel's rules that it shares with channels of the same port on other loops. */
    List<FlowSpec> rssFlows();

    /**
     * Returns what to do with when the device has no room for the channel's rules: fewer and coarser ones, which bring
     * more than is meant, or none where the kernel's socket receives all.
     */
    List<FlowSpec> coarseFlows();

    /** Tells whether the kernel's socket receives what no rule takes. */
    boolean isKernelServed();

    /** Returns the rules that steer a group's datagrams to its queue. */
    List<FlowSpec> groupFlows(InetSocketAddress group);

    /**
     * Tells the routers and switches of a link that a membership of the channel changes, if the network does so.
     *
     * @param change what is done
     * @param filter what the channel wants of the group afterwards
     * @throws IOException when the membership cannot be had
     */
    default void announce(GroupChange change, SourceFilter filter) throws IOException {
    }

    /** Returns a number that changes when paths found before may be wrong. */
    long generation();

    /** Tells whether datagrams never leave this host, so that those to groups have no members elsewhere. */
    default boolean isWithinHost() {
        return false;
    }

    /**
     * Hands a datagram to the owner of its port on this host; for paths of the kind {@link DatagramPath.Kind#SELF}.
     *
     * @param content taken from by index; keeps its reference
     * @return false when the port is closed
     */
    default boolean handOver(DatagramPath path, ByteBuf content, int index, int lengthBytes) {
        throw new UnsupportedOperationException("this network has no such paths");
    }

    /**
     * Finds the way to a destination.
     *
     * @param sourceOrNull the address to send from when the channel is bound to a wildcard and the user chose one
     * @throws IOException when there is none
     */
    DatagramPath resolve(InetSocketAddress destination, InetSocketAddress sourceOrNull) throws IOException;
}
