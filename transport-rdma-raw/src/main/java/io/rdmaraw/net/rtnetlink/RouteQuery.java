package io.rdmaraw.net.rtnetlink;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.Route;
import io.rdmaraw.netlink.NetlinkReader;
import io.rdmaraw.netlink.NetlinkSocket;
import io.rdmaraw.netlink.NetlinkWriter;

import java.io.IOException;

/**
 * Queries routes from the kernel, which considers all tables and policy rules. Refers to the network namespace
 * of the thread that opens it. Thread-safe. A query takes some microseconds; the answer is available as soon as
 * the request has been sent.
 */
public final class RouteQuery implements AutoCloseable {
    private static final int RTM_NEWROUTE = 24;
    private static final int RTM_GETROUTE = 26;

    private static final int RTM_F_FIB_MATCH = 0x2000;

    private final NetlinkSocket socket = new NetlinkSocket(NetlinkSocket.NETLINK_ROUTE, 0);
    private final NetlinkWriter writer = new NetlinkWriter();
    private final NetlinkReader reader = new NetlinkReader();
    private int sequence;

    /** Opens the socket. Needs no privilege. */
    public RouteQuery() throws IOException {
    }

    /**
     * Queries the route to a destination over any link. The parameters are those of {@link #query(IpAddress, IpAddress,
     * int, int, boolean)}.
     */
    public Route query(IpAddress destination, IpAddress sourceOrNull, int mark,
            boolean allNextHops) throws IOException {
        return query(destination, sourceOrNull, NetworkSnapshot.NO_LINK, mark, allNextHops);
    }

    /**
     * Queries the route to a destination.
     *
     * @param sourceOrNull source address of the packets, or null if unknown
     * @param linkIndex    the only link that the route may lead over, or {@link NetworkSnapshot#NO_LINK} for any link
     * @param mark         mark of the packets for policy rules ({@code SO_MARK}), or 0
     * @param allNextHops  whether to return the route of the table with all its next hops, and not only the one
     *                     for such a packet
     * @return the route, or null if there is none
     */
    public synchronized Route query(IpAddress destination, IpAddress sourceOrNull, int linkIndex, int mark,
            boolean allNextHops) throws IOException {
        int requestSequence = ++sequence;
        writer.begin(RTM_GETROUTE, NetlinkWriter.NLM_F_REQUEST, requestSequence, RtnetlinkDecoder.RTMSG_BYTES)
                .fixedByte(0, RtnetlinkMonitor.family(destination)).fixedByte(1, bits(destination));
        RtnetlinkDecoder.addAddress(writer, RtnetlinkDecoder.RTA_DST, destination);
        if (allNextHops) {
            writer.fixedInt(8, RTM_F_FIB_MATCH);
        }
        if (sourceOrNull != null) {
            RtnetlinkDecoder.addAddress(writer.fixedByte(2, bits(sourceOrNull)), RtnetlinkDecoder.RTA_SRC,
                    sourceOrNull);
        }
        if (linkIndex != NetworkSnapshot.NO_LINK) {
            writer.number(RtnetlinkDecoder.RTA_OIF, linkIndex);
        }
        if (mark != 0) {
            writer.number(RtnetlinkDecoder.RTA_MARK, mark);
        }
        socket.send(writer);
        return socket.awaitReply(reader, requestSequence) == RTM_NEWROUTE ? RtnetlinkDecoder.route(reader) : null;
    }

    private static int bits(IpAddress address) {
        return address.isIpv4() ? Integer.SIZE : 2 * Long.SIZE;
    }

    @Override
    public synchronized void close() {
        socket.close();
        writer.close();
    }
}
