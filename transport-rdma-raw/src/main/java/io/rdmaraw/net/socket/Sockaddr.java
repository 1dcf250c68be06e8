package io.rdmaraw.net.socket;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NativeSocket;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.ffi.NetworkOrder;

/** Accessors for {@code struct sockaddr_in} and {@code struct sockaddr_in6} in native memory. */
final class Sockaddr {
    /** Size of the larger structure. */
    static final int SIZE_BYTES = 28;
    private static final int SIZE_BYTES_IPV4 = 16;
    private static final int PORT_OFFSET = 2;
    private static final int ADDRESS_OFFSET_IPV4 = 4;
    private static final int ADDRESS_OFFSET_IPV6 = 8;
    private static final int SCOPE_OFFSET = 24;

    private Sockaddr() {
    }

    /**
     * Writes an address and a port, and returns the length. For an AF_INET6 socket, an IPv4 address is written
     * as IPv4-mapped.
     *
     * @param scope link index for a link-local IPv6 address, otherwise 0
     */
    static int write(long sockaddr, int family, IpAddress address, int port, int scope) {
        NativeMemory.fill(sockaddr, SIZE_BYTES, (byte) 0);
        NativeMemory.putShort(sockaddr, (short) family);
        NetworkOrder.putU16(sockaddr + PORT_OFFSET, port);
        if (family == NativeSocket.AF_INET) {
            NetworkOrder.putInt(sockaddr + ADDRESS_OFFSET_IPV4, address.ipv4());
            return SIZE_BYTES_IPV4;
        }
        NetworkOrder.putLong(sockaddr + ADDRESS_OFFSET_IPV6, address.high());
        NetworkOrder.putLong(sockaddr + ADDRESS_OFFSET_IPV6 + Long.BYTES, address.low());
        NativeMemory.putInt(sockaddr + SCOPE_OFFSET, scope);
        return SIZE_BYTES;
    }

    static int port(long sockaddr) {
        return NetworkOrder.getU16(sockaddr + PORT_OFFSET);
    }

    /** Returns the link index of a link-local IPv6 address, otherwise 0. */
    static int scope(long sockaddr) {
        return isIpv4(sockaddr) ? 0 : NativeMemory.getInt(sockaddr + SCOPE_OFFSET);
    }

    /** Returns the upper half of the address; see {@link IpAddress#high()}. */
    static long high(long sockaddr) {
        return isIpv4(sockaddr) ? 0 : NetworkOrder.getLong(sockaddr + ADDRESS_OFFSET_IPV6);
    }

    /** Returns the lower half of the address; see {@link IpAddress#low()}. */
    static long low(long sockaddr) {
        return isIpv4(sockaddr) ? IpAddress.ipv4(NetworkOrder.getInt(sockaddr + ADDRESS_OFFSET_IPV4)).low()
                : NetworkOrder.getLong(sockaddr + ADDRESS_OFFSET_IPV6 + Long.BYTES);
    }

    static IpAddress address(long sockaddr) {
        return new IpAddress(high(sockaddr), low(sockaddr));
    }

    private static boolean isIpv4(long sockaddr) {
        return NativeMemory.getShort(sockaddr) == NativeSocket.AF_INET;
    }
}
