package io.rdmaraw.channel;

import io.rdmaraw.route.IpAddress;

import java.net.InetSocketAddress;

/**
 * The socket addresses of the peers heard of last, so that a datagram from a known peer costs no address object. For
 * one loop.
 */
final class SocketAddressCache {
    private static final int ENTRIES = 1 << 12;

    private final long[] high = new long[ENTRIES];
    private final long[] low = new long[ENTRIES];
    private final int[] port = new int[ENTRIES];
    private final InetSocketAddress[] addresses = new InetSocketAddress[ENTRIES];

    /** Returns the socket address; {@code high} and {@code low} as in {@link IpAddress}. */
    InetSocketAddress get(long addressHigh, long addressLow, int portNumber) {
        long mixed = (addressHigh * 31 + addressLow) * 31 + portNumber;
        int index = (int) (mixed * 0x9e37_79b9_7f4a_7c15L >>> 52);
        if (addresses[index] == null || low[index] != addressLow || high[index] != addressHigh
                || port[index] != portNumber) {
            addresses[index] = new InetSocketAddress(new IpAddress(addressHigh, addressLow).toInetAddress(), portNumber);
            high[index] = addressHigh;
            low[index] = addressLow;
            port[index] = portNumber;
        }
        return addresses[index];
    }
}
