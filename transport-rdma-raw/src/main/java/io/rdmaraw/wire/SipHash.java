package io.rdmaraw.wire;

/**
 * SipHash-2-4 (Aumasson and Bernstein) over 64-bit words. It is the keyed hash for all values that outsiders must
 * not be able to predict: ISNs, ports, SYN cookies and flow labels.
 */
public final class SipHash {
    private final long key0;
    private final long key1;

    /** Creates the function for a key of 16 bytes. */
    public SipHash(long key0, long key1) {
        this.key0 = key0;
        this.key1 = key1;
    }

    /** Returns the hash of the 48-byte message a to f, each word in little-endian order. */
    public long hash(long a, long b, long c, long d, long e, long f) {
        long v0 = key0 ^ 0x736f6d6570736575L;
        long v1 = key1 ^ 0x646f72616e646f6dL;
        long v2 = key0 ^ 0x6c7967656e657261L;
        long v3 = key1 ^ 0x7465646279746573L;
        for (int i = 0; i < 7; i++) {
            long word = switch (i) {
                case 0 -> a;
                case 1 -> b;
                case 2 -> c;
                case 3 -> d;
                case 4 -> e;
                case 5 -> f;
                default -> 48L << 56;
            };
            v3 ^= word;
            for (int round = 0; round < 2; round++) {
                v0 += v1;
                v2 += v3;
                v1 = Long.rotateLeft(v1, 13) ^ v0;
                v3 = Long.rotateLeft(v3, 16) ^ v2;
                v0 = Long.rotateLeft(v0, 32);
                v2 += v1;
                v0 += v3;
                v1 = Long.rotateLeft(v1, 17) ^ v2;
                v3 = Long.rotateLeft(v3, 21) ^ v0;
                v2 = Long.rotateLeft(v2, 32);
            }
            v0 ^= word;
        }
        v2 ^= 0xff;
        for (int round = 0; round < 4; round++) {
            v0 += v1;
            v2 += v3;
            v1 = Long.rotateLeft(v1, 13) ^ v0;
            v3 = Long.rotateLeft(v3, 16) ^ v2;
            v0 = Long.rotateLeft(v0, 32);
            v2 += v1;
            v0 += v3;
            v1 = Long.rotateLeft(v1, 17) ^ v2;
            v3 = Long.rotateLeft(v3, 21) ^ v0;
            v2 = Long.rotateLeft(v2, 32);
        }
        return v0 ^ v1 ^ v2 ^ v3;
    }

    /** Combines two ports into one word of a message. */
    public static long ports(int local, int remote) {
        return (long) local << 16 | remote;
    }
}
