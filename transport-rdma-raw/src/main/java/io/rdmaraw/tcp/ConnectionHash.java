package io.rdmaraw.tcp;

import java.util.random.RandomGenerator;

/**
 * A keyed hash of the two ends of a connection, for IPv4 and IPv6. It is meant for hash tables with keys that peers
 * can partly choose: without the hash key, a peer cannot provoke collisions. It is not a MAC; do not use it for
 * values that leave the host.
 */
public final class ConnectionHash {
    private final long key0;
    private final long key1;

    ConnectionHash(long key0, long key1) {
        this.key0 = key0;
        this.key1 = key1 | 1;
    }

    /** @param random source of the key: a {@code SecureRandom} in production, a seeded generator in tests */
    public ConnectionHash(RandomGenerator random) {
        this(random.nextLong(), random.nextLong());
    }

    /** Returns the hash of the two ends. */
    public int hash(long localHigh, long localLow, int localPort, long remoteHigh, long remoteLow, int remotePort) {
        long a = fold(remoteLow ^ key0, localLow ^ key1);
        long b = fold(remoteHigh ^ key1 ^ ((long) localPort << 16 | remotePort), localHigh ^ key0 ^ a);
        return (int) (b ^ b >>> 32);
    }

    private static long fold(long x, long y) {
        return x * y ^ Math.unsignedMultiplyHigh(x, y);
    }
}
