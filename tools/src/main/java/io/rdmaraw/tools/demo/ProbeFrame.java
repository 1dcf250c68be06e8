package io.rdmaraw.tools.demo;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.tools.frame.EthernetAddresses;

/**
 * A frame with the data that its receiver needs to verify it. The Ethernet header is followed by 8 bytes of sequence
 * number, 8 bytes of checksum, and content derived from the sequence number.
 */
final class ProbeFrame {
    /** Local experimental ethertype 1 of IEEE Std 802. Kernels ignore such frames. */
    static final int ETHERTYPE = 0x88b5;
    static final int MIN_BYTES = 60;
    private static final int SEQUENCE_OFFSET = 14;
    private static final int CHECKSUM_OFFSET = 22;
    private static final int CONTENT_OFFSET = 30;
    /** Odd, so that the multiplication loses no bits: a change of a single word always changes the checksum. */
    private static final long MULTIPLIER = 0x9e3779b97f4a7c15L;

    private ProbeFrame() {
    }

    /** Writes the addresses (48 bits each) and the ethertype. */
    static void writeHeader(ByteBuf frame, long destination, long source) {
        EthernetAddresses.write(frame, destination, source);
        frame.setShort(12, ETHERTYPE);
    }

    /** Writes the sequence number, the checksum and the content. */
    static void stamp(ByteBuf frame, long sequence, int lengthBytes) {
        frame.setLong(SEQUENCE_OFFSET, sequence);
        long checksum = sequence * MULTIPLIER;
        long word = sequence;
        int offset = CONTENT_OFFSET;
        for (; offset + Long.BYTES <= lengthBytes; offset += Long.BYTES) {
            word += MULTIPLIER;
            frame.setLong(offset, word);
            checksum = mix(checksum, word);
        }
        for (; offset < lengthBytes; offset++) {
            frame.setByte(offset, (byte) word);
            checksum = mix(checksum, word & 0xff);
        }
        frame.setLong(CHECKSUM_OFFSET, checksum);
    }

    /** Returns whether the frame has the expected length and its checksum is correct. */
    static boolean isIntact(ByteBuf frame, int lengthBytes) {
        if (frame.readableBytes() != lengthBytes || frame.getUnsignedShort(12) != ETHERTYPE) {
            return false;
        }
        long checksum = sequence(frame) * MULTIPLIER;
        int offset = CONTENT_OFFSET;
        for (; offset + Long.BYTES <= lengthBytes; offset += Long.BYTES) {
            checksum = mix(checksum, frame.getLong(offset));
        }
        for (; offset < lengthBytes; offset++) {
            checksum = mix(checksum, frame.getUnsignedByte(offset));
        }
        return checksum == frame.getLong(CHECKSUM_OFFSET);
    }

    static long sequence(ByteBuf frame) {
        return frame.getLong(SEQUENCE_OFFSET);
    }

    private static long mix(long checksum, long word) {
        return Long.rotateLeft((checksum ^ word) * MULTIPLIER, 29);
    }
}
