package io.rdmaraw.net.socket;

import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;
import io.rdmaraw.net.IcmpErrorParser;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.wire.IcmpErrorKind;

/** The error queue of a socket with IP_RECVERR: ICMP errors about datagrams sent from its port. */
public final class SocketErrorQueue implements AutoCloseable {
    /** {@code struct msghdr} of bits/socket.h. */
    private static final int MSG_NAME = 0;
    private static final int MSG_NAMELEN = 8;
    private static final int MSG_IOV = 16;
    private static final int MSG_IOVLEN = 24;
    private static final int MSG_CONTROL = 32;
    private static final int MSG_CONTROLLEN = 40;
    private static final int MSGHDR_BYTES = 56;
    private static final int IOVEC_BYTES = 16;
    private static final int CONTROL_BYTES = 256;
    /** {@code struct cmsghdr}: length 8, level 4, type 4, then the data. The next one begins at a multiple of 8. */
    private static final int CMSG_LEVEL = 8;
    private static final int CMSG_TYPE = 12;
    private static final int CMSG_DATA = 16;
    /** {@code struct sock_extended_err}, linux/errqueue.h. */
    private static final int EE_ORIGIN = 4;
    private static final int EE_TYPE = 5;
    private static final int EE_CODE = 6;
    private static final int EE_INFO = 8;
    private static final int ORIGIN_ICMP = 2;
    private static final int ORIGIN_ICMP6 = 3;
    private static final int IPPROTO_IP = 0;
    private static final int IP_RECVERR = 11;
    private static final int IPPROTO_IPV6 = 41;
    private static final int IPV6_RECVERR = 25;

    /**
     * An error about a sent datagram.
     *
     * @param errno {@code EMSGSIZE} if the datagram was longer than the path MTU
     * @param kindOrNull the kind of the ICMP error; null if the kernel itself reports the error
     * @param mtuBytes the path MTU; valid with {@code EMSGSIZE} only
     * @param destination the destination address of the datagram
     * @param port the destination port of the datagram
     */
    public record Entry(int errno, IcmpErrorKind kindOrNull, int mtuBytes, IpAddress destination, int port) {
    }

    private final NativeSocket socket;
    private final long memory = Libc.allocateZeroed(MSGHDR_BYTES + IOVEC_BYTES + Sockaddr.SIZE_BYTES + 4
            + CONTROL_BYTES);
    private final long name = memory + MSGHDR_BYTES + IOVEC_BYTES;
    private final long control = name + Sockaddr.SIZE_BYTES + 4;

    SocketErrorQueue(NativeSocket socket) {
        this.socket = socket;
        NativeMemory.putLong(memory + MSG_NAME, name);
        // The datagram itself is not needed, so its buffer has length 0.
        NativeMemory.putLong(memory + MSG_IOV, memory + MSGHDR_BYTES);
        NativeMemory.putLong(memory + MSG_IOVLEN, 1);
        NativeMemory.putLong(memory + MSG_CONTROL, control);
    }

    /** Returns the oldest entry, or null if there is none. */
    Entry poll() {
        NativeMemory.putInt(memory + MSG_NAMELEN, Sockaddr.SIZE_BYTES);
        NativeMemory.putLong(memory + MSG_CONTROLLEN, CONTROL_BYTES);
        if (socket.receiveError(memory) < 0) {
            return null;
        }
        long end = control + NativeMemory.getLong(memory + MSG_CONTROLLEN);
        for (long cmsg = control; cmsg + CMSG_DATA <= end; cmsg += NativeMemory.getLong(cmsg) + 7 & ~7L) {
            int level = NativeMemory.getInt(cmsg + CMSG_LEVEL);
            int type = NativeMemory.getInt(cmsg + CMSG_TYPE);
            if (level == IPPROTO_IP && type == IP_RECVERR || level == IPPROTO_IPV6 && type == IPV6_RECVERR) {
                long error = cmsg + CMSG_DATA;
                return new Entry(NativeMemory.getInt(error), kindOrNull(error), NativeMemory.getInt(error + EE_INFO),
                        Sockaddr.address(name), Sockaddr.port(name));
            }
        }
        return new Entry(0, null, 0, IpAddress.ANY_IPV6, 0);
    }

    private static IcmpErrorKind kindOrNull(long error) {
        int ipVersion = switch (NativeMemory.getByte(error + EE_ORIGIN)) {
            case ORIGIN_ICMP -> 4;
            case ORIGIN_ICMP6 -> 6;
            default -> 0;
        };
        return ipVersion == 0 ? null : IcmpErrorParser.kindOf(ipVersion, NativeMemory.getByte(error + EE_TYPE) & 0xff,
                NativeMemory.getByte(error + EE_CODE) & 0xff);
    }

    @Override
    public void close() {
        Libc.free(memory);
    }
}
