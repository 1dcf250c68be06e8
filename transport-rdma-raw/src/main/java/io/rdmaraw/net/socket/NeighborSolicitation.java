package io.rdmaraw.net.socket;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.wire.IpProtocol;

import java.io.IOException;

/**
 * Solicits an IPv6 neighbour on a link without a link-local address (RFC 4861 section 4.3). The kernel itself
 * solicits without a packet to send only from a link-local address. It accepts the answer if it has an entry
 * for the neighbour.
 */
public final class NeighborSolicitation {
    private static final int IPPROTO_IPV6 = 41;
    private static final int IPV6_MULTICAST_HOPS = 18;
    private static final int HOP_LIMIT = 255;
    private static final byte TYPE = (byte) 135;
    private static final int TARGET_OFFSET = 8;
    private static final int OPTION_OFFSET = 24;
    private static final int LENGTH_BYTES = 32;
    /** Type 1, length 1: source link-layer address option. */
    private static final int SOURCE_LINK_LAYER_ADDRESS = 0x0101;

    private NeighborSolicitation() {
    }

    /**
     * Sends a solicitation from the best address of the link. Needs CAP_NET_RAW.
     *
     * @param mac MAC address of the link
     * @throws IOException if the kernel refuses
     */
    public static void send(int linkIndex, long mac, IpAddress neighbor) throws IOException {
        long scratch = Libc.allocateZeroed(LENGTH_BYTES + Sockaddr.SIZE_BYTES);
        long sockaddr = scratch + LENGTH_BYTES;
        try (NativeSocket socket = NativeSocket.open(NativeSocket.AF_INET6, NativeSocket.SOCK_RAW,
                IpProtocol.ICMPV6)) {
            NativeMemory.putInt(scratch, HOP_LIMIT);
            int status = socket.setOption(IPPROTO_IPV6, IPV6_MULTICAST_HOPS, scratch, Integer.BYTES);
            NativeMemory.putInt(scratch, 0);
            NativeMemory.putByte(scratch, TYPE);
            NetworkOrder.putLong(scratch + TARGET_OFFSET, neighbor.high());
            NetworkOrder.putLong(scratch + TARGET_OFFSET + Long.BYTES, neighbor.low());
            NetworkOrder.putLong(scratch + OPTION_OFFSET, (long) SOURCE_LINK_LAYER_ADDRESS << 48 | mac);
            int sockaddrBytes = Sockaddr.write(sockaddr, NativeSocket.AF_INET6, neighbor.solicitedNode(), 0, linkIndex);
            status = status < 0 ? status : socket.send(scratch, LENGTH_BYTES, sockaddr, sockaddrBytes);
            if (status < 0) {
                throw new IOException("the kernel does not solicit " + neighbor + ": " + Errno.describe(-status));
            }
        } finally {
            Libc.free(scratch);
        }
    }
}
