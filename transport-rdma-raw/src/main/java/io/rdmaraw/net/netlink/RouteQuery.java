package io.rdmaraw.net.netlink;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Route;

import java.io.IOException;

/**
 * Asks the kernel for its routes, which it finds with all its tables and policy rules, in the network namespace of the
 * thread that opens it. Thread-safe; an answer takes some microseconds, as the kernel has it before the question's
 * system call returns.
 */
public final class RouteQuery implements AutoCloseable {
    private static final int RTM_NEWROUTE = 24;
    private static final int RTM_GETROUTE = 26;

    private final NetlinkSocket socket = new NetlinkSocket(NetlinkSocket.NETLINK_ROUTE, 0);
    private final NetlinkWriter writer = new NetlinkWriter();
    private final NetlinkReader reader = new NetlinkReader();
    private int sequence;

    /** Opens the socket. Needs no privilege. */
    public RouteQuery() throws IOException {
    }

    /**
     * Asks for the route to a destination.
     *
     * @param sourceOrNull the address that will be sent from, when it is known
     * @param mark the mark of what will be sent, which policy rules may ask for ({@code SO_MARK}); 0 for none
     * @return the route, or null when there is none
     */
    public synchronized Route ask(IpAddress destination, IpAddress sourceOrNull, int mark) throws IOException {
        int asked = ++sequence;
        writer.begin(RTM_GETROUTE, NetlinkWriter.NLM_F_REQUEST, asked, RtnetlinkDecoder.RTMSG_BYTES)
                .fixedByte(0, RtnetlinkMonitor.family(destination)).fixedByte(1, bits(destination))
                .address(RtnetlinkDecoder.RTA_DST, destination);
        if (sourceOrNull != null) {
            writer.fixedByte(2, bits(sourceOrNull)).address(RtnetlinkDecoder.RTA_SRC, sourceOrNull);
        }
        if (mark != 0) {
            writer.number(RtnetlinkDecoder.RTA_MARK, mark);
        }
        socket.send(writer);
        return socket.awaitAnswer(reader, asked) == RTM_NEWROUTE ? RtnetlinkDecoder.route(reader) : null;
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
