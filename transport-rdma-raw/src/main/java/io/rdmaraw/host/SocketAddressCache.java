package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;

import java.net.InetSocketAddress;

/**
 * Cache of the socket addresses of recent peers, so that a datagram from a known peer allocates no address. An address
 * can be in one of two places. If entries displace each other, the cache doubles up to a limit. Used on one loop only.
 */
public final class SocketAddressCache {
    static final int MIN_ADDRESSES = 1 << 10;
    static final int MAX_ADDRESSES = 1 << 16;
    /** Denominator of the share of displaced entries at which the cache grows. */
    private static final int GROWTH_DIVISOR = 8;

    private int shift = Long.SIZE - Integer.numberOfTrailingZeros(MIN_ADDRESSES);
    private long[] high = new long[MIN_ADDRESSES];
    private long[] low = new long[MIN_ADDRESSES];
    private int[] port = new int[MIN_ADDRESSES];
    private InetSocketAddress[] addresses = new InetSocketAddress[MIN_ADDRESSES];
    private int evicted;

    /**
     * Returns the socket address. {@code addressHigh} and {@code addressLow} are encoded as in {@link IpAddress}.
     *
     * @param scopeId scope id for link-local IPv6 addresses; 0 if the host has no links
     */
    public InetSocketAddress get(long addressHigh, long addressLow, int portNumber, int scopeId) {
        boolean scoped = scopeId != 0 && IpAddress.isLinkLocal(addressHigh);
        return scoped ? find(addressHigh, addressLow, portNumber | scopeId << Short.SIZE)
                : find(addressHigh, addressLow, portNumber);
    }

    /**
     * Returns a cached address or adds it.
     *
     * @param scopedPort port in the lower 16 bits; the scope id of a link-local address above them
     */
    private InetSocketAddress find(long addressHigh, long addressLow, int scopedPort) {
        int index = bucketOf(addressHigh, addressLow, scopedPort);
        if (isAt(index, addressHigh, addressLow, scopedPort)) {
            return addresses[index];
        }
        if (isAt(index ^ 1, addressHigh, addressLow, scopedPort)) {
            return addresses[index ^ 1];
        }
        return add(addressHigh, addressLow, scopedPort);
    }

    private int bucketOf(long addressHigh, long addressLow, int scopedPort) {
        long mixed = (addressHigh * 31 + addressLow) * 31 + scopedPort;
        return (int) (mixed * 0x9e37_79b9_7f4a_7c15L >>> shift);
    }

    private boolean isAt(int index, long addressHigh, long addressLow, int scopedPort) {
        return low[index] == addressLow && port[index] == scopedPort && high[index] == addressHigh
                && addresses[index] != null;
    }

    private InetSocketAddress add(long addressHigh, long addressLow, int scopedPort) {
        int index = bucketOf(addressHigh, addressLow, scopedPort);
        if (addresses[index] != null && addresses[index ^ 1] != null
                && ++evicted > addresses.length / GROWTH_DIVISOR && addresses.length < MAX_ADDRESSES) {
            grow();
            index = bucketOf(addressHigh, addressLow, scopedPort);
        }
        if (addresses[index] != null) {
            // The newest entry has the first place, so the entry in the second one is replaced.
            move(index, index ^ 1);
        }
        addresses[index] = new InetSocketAddress(
                new IpAddress(addressHigh, addressLow).toInetAddress(scopedPort >>> Short.SIZE), scopedPort & 0xffff);
        high[index] = addressHigh;
        low[index] = addressLow;
        port[index] = scopedPort;
        return addresses[index];
    }

    private void move(int from, int to) {
        high[to] = high[from];
        low[to] = low[from];
        port[to] = port[from];
        addresses[to] = addresses[from];
    }

    private void grow() {
        int oldCapacity = addresses.length;
        long[] oldHigh = high;
        long[] oldLow = low;
        int[] oldPort = port;
        InetSocketAddress[] oldAddresses = addresses;
        high = new long[2 * oldCapacity];
        low = new long[2 * oldCapacity];
        port = new int[2 * oldCapacity];
        addresses = new InetSocketAddress[2 * oldCapacity];
        shift--;
        evicted = 0;
        for (int i = 0; i < oldCapacity; i++) {
            if (oldAddresses[i] != null) {
                int bucket = bucketOf(oldHigh[i], oldLow[i], oldPort[i]);
                int index = addresses[bucket] == null ? bucket : bucket ^ 1;
                high[index] = oldHigh[i];
                low[index] = oldLow[i];
                port[index] = oldPort[i];
                addresses[index] = oldAddresses[i];
            }
        }
    }

    int capacity() {
        return addresses.length;
    }
}
