package io.rdmaraw.tcp;

import java.util.random.RandomGenerator;

/**
 * A keyed hash of a connection's two ends, for tables in which peers choose part of the key: without the hash's key a
 * peer cannot aim for one place. IPv4 and IPv6 alike. Not for what leaves the host: it is no MAC.
 */
public final class ConnectionHash {
    private final long key0;
    private final long key1;

    ConnectionHash(long key0, long key1) {
        this.key0 = key0;
        this.key1 = key1 | 1;
    }

    /** @param random source of the key: a {@code SecureRandom} in production; tests pass a seeded one */
    public ConnectionHash(RandomGenerator random) {
        this(random.nextLong(), random.nextLong());
    }

    /** Returns the hash of two ends, of which the remote one is a peer's to choose. */
    public int hash(long localHigh, long localLow, int localPort, long remoteHigh, long remoteLow, int remotePort) {
        long a = fold(remoteLow ^ key0, localLow ^ key1);
        long b = fold(remoteHigh ^ key1 ^ ((long) localPort << 16 | remotePort), localHigh ^ key0 ^ a);
        return (int) (b ^ b >>> 32);
    }

    private static long fold(long x, long y) {
        return x * y ^ Math.unsignedMultiplyHigh(x, y);
    }
}
