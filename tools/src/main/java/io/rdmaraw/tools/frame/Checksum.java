package io.rdmaraw.tools.frame;

import java.nio.ByteBuffer;

/** The Internet checksum (RFC 1071) for frames made once; nothing here is on a hot path. */
final class Checksum {
    private Checksum() {
    }

    /** The sum of 16-bit words, not folded. An odd last byte is the upper half of a word. */
    static long sum(byte[] bytes) {
        return sum(ByteBuffer.wrap(bytes), 0, bytes.length);
    }

    private static long sum(ByteBuffer buffer, int offset, int lengthBytes) {
        long sum = 0;
        for (int i = 0; i < lengthBytes; i++) {
            int value = Byte.toUnsignedInt(buffer.get(offset + i));
            sum += (i & 1) == 0 ? value << 8 : value;
        }
        return sum;
    }

    /** The checksum of bytes, with a sum added first. */
    static int of(ByteBuffer buffer, int offset, int lengthBytes, long initialSum) {
        long sum = initialSum + sum(buffer, offset, lengthBytes);
        while (sum > 0xffff) {
            sum = (sum & 0xffff) + (sum >>> 16);
        }
        return (int) ~sum & 0xffff;
    }
}
