package io.rdmaraw.wire;

/**
 * The Toeplitz hash by which network cards distribute flows over queues, implemented as a table lookup per input
 * byte.
 *
 * <p>The result is the full 32-bit hash; the card uses the low bits as an index into its indirection table. The
 * input has the order of Microsoft's definition: source address, destination address, source port and destination
 * port of the received packet. Immutable and thread-safe.
 *
 * <p>Some cards use a symmetric variant, which maps both directions of a flow to the same queue (Linux:
 * "symmetric-or-xor"). This class does not implement it. Verify at run time, with a frame, which of the two a
 * device uses.
 */
public final class Toeplitz {
    /**
     * Key length of mlx5 and of Microsoft's test vectors. It is sufficient for two IPv6 addresses and two ports.
     */
    public static final int KEY_LENGTH_BYTES = 40;
    private static final int INPUT_BYTES = 36;

    private final int[] table = new int[INPUT_BYTES << 8];

    private Toeplitz(byte[] key) {
        if (key.length != KEY_LENGTH_BYTES) {
            throw new IllegalArgumentException("a Toeplitz key has " + KEY_LENGTH_BYTES + " bytes, not " + key.length);
        }
        for (int position = 0; position < INPUT_BYTES; position++) {
            fillPosition(key, position);
        }
    }

    /** Returns the hash of Microsoft's definition for a key of 40 bytes. */
    public static Toeplitz standard(byte[] key) {
        return new Toeplitz(key);
    }

    private void fillPosition(byte[] key, int position) {
        for (int value = 0; value < 256; value++) {
            int hash = 0;
            for (int bit = 0; bit < 8; bit++) {
                if ((value & 0x80 >>> bit) != 0) {
                    hash ^= keyWindow(key, position * 8 + bit);
                }
            }
            table[position << 8 | value] = hash;
        }
    }

    /** Returns the 32 bits of the key that start at the given bit. */
    private static int keyWindow(byte[] key, int firstBit) {
        long window = 0;
        int firstByte = firstBit >>> 3;
        for (int i = 0; i < 5; i++) {
            int index = firstByte + i;
            window = window << 8 | (index < key.length ? key[index] & 0xff : 0);
        }
        return (int) (window >>> 8 - (firstBit & 7));
    }

    /** Returns the hash of two IPv4 addresses. */
    public int ipv4(int source, int destination) {
        return word(0, source) ^ word(4, destination);
    }

    /** Returns the hash of two IPv4 addresses and two ports. */
    public int ipv4(int source, int destination, int sourcePort, int destinationPort) {
        return ipv4(source, destination) ^ word(8, ports(sourcePort, destinationPort));
    }

    /** Returns the hash of two IPv6 addresses. */
    public int ipv6(long sourceHigh, long sourceLow, long destinationHigh, long destinationLow) {
        return longWord(0, sourceHigh) ^ longWord(8, sourceLow) ^ longWord(16, destinationHigh)
                ^ longWord(24, destinationLow);
    }

    /** Returns the hash of two IPv6 addresses and two ports. */
    public int ipv6(long sourceHigh, long sourceLow, long destinationHigh, long destinationLow, int sourcePort,
                    int destinationPort) {
        return ipv6(sourceHigh, sourceLow, destinationHigh, destinationLow)
                ^ word(32, ports(sourcePort, destinationPort));
    }

    private static int ports(int source, int destination) {
        return source << 16 | destination & 0xffff;
    }

    private int longWord(int position, long value) {
        return word(position, (int) (value >>> 32)) ^ word(position + 4, (int) value);
    }

    private int word(int position, int value) {
        int base = position << 8;
        return table[base | value >>> 24] ^ table[base + 256 | value >>> 16 & 0xff]
                ^ table[base + 512 | value >>> 8 & 0xff] ^ table[base + 768 | value & 0xff];
    }
}
