package io.rdmaraw.testsuite.sim;

/**
 * The content of a stream. Each byte is a function of stream and offset, so a receiver can check any part without
 * a copy.
 */
final class Pattern {
    private Pattern() {
    }

    static byte at(int stream, long offset) {
        long z = (offset >>> 3) * 0x9e37_79b9_7f4a_7c15L + stream * 0xbf58_476d_1ce4_e5b9L;
        z = (z ^ z >>> 29) * 0x94d0_49bb_1331_11ebL;
        return (byte) (z >>> ((offset & 7) << 3));
    }

    static byte[] bytes(int stream, long offset, int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = at(stream, offset + i);
        }
        return bytes;
    }

    /** Returns the index of the first byte that differs from the stream, or -1. */
    static int mismatch(int stream, long offset, byte[] bytes) {
        for (int i = 0; i < bytes.length; i++) {
            if (bytes[i] != at(stream, offset + i)) {
                return i;
            }
        }
        return -1;
    }
}
