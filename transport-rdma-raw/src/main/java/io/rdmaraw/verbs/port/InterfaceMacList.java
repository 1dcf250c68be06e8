package io.rdmaraw.verbs.port;

import io.rdmaraw.netlink.NetlinkReader;
import io.rdmaraw.netlink.NetlinkSocket;
import io.rdmaraw.netlink.NetlinkWriter;

import java.io.IOException;

/**
 * The list of unicast MAC addresses, in addition to its own, for which a network interface receives frames:
 * {@code RTM_NEWNEIGH} with {@code NTF_SELF}, as used by {@code bridge fdb add MAC dev DEV self}. A virtual
 * function receives no others. Needs CAP_NET_ADMIN.
 */
final class InterfaceMacList implements AutoCloseable {
    private static final int RTM_NEWNEIGH = 28;
    private static final int RTM_DELNEIGH = 29;
    private static final int NLM_F_EXCL = 0x200;
    private static final int NDMSG_BYTES = 12;
    private static final int NDM_IFINDEX_OFFSET = 4;
    private static final int NDM_STATE_OFFSET = 8;
    private static final int NDM_FLAGS_OFFSET = 10;
    private static final int AF_BRIDGE = 7;
    private static final int NUD_PERMANENT = 0x80;
    private static final int NTF_SELF = 2;
    private static final int NDA_LLADDR = 2;
    private static final int SEQUENCE = 1;

    private final NetlinkSocket socket = new NetlinkSocket(NetlinkSocket.NETLINK_ROUTE, 0);
    private final NetlinkWriter writer = new NetlinkWriter();
    private final NetlinkReader reader = new NetlinkReader();

    /** Opens a socket in the network namespace of the calling thread. */
    InterfaceMacList() throws IOException {
    }

    /** Adds an address. Returns 0 or the error number; EEXIST if it is already in the list. */
    int add(int interfaceIndex, long mac) throws IOException {
        return change(RTM_NEWNEIGH, NetlinkWriter.NLM_F_CREATE | NLM_F_EXCL, interfaceIndex, mac);
    }

    /** Removes an address. Returns 0 or the error number. */
    int remove(int interfaceIndex, long mac) throws IOException {
        return change(RTM_DELNEIGH, 0, interfaceIndex, mac);
    }

    private int change(int type, int flags, int interfaceIndex, long mac) throws IOException {
        socket.send(writer.begin(type, flags | NetlinkWriter.NLM_F_REQUEST | NetlinkWriter.NLM_F_ACK, SEQUENCE,
                NDMSG_BYTES).fixedByte(0, AF_BRIDGE).fixedInt(NDM_IFINDEX_OFFSET, interfaceIndex)
                .fixedByte(NDM_STATE_OFFSET, NUD_PERMANENT).fixedByte(NDM_FLAGS_OFFSET, NTF_SELF)
                .mac(NDA_LLADDR, mac));
        socket.awaitReply(reader, SEQUENCE);
        return reader.errno();
    }

    @Override
    public void close() {
        socket.close();
        writer.close();
    }
}
