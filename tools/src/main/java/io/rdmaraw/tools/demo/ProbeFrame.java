package io.rdmaraw.tools.demo;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.tools.frame.EthernetAddresses;

/**
 * A frame that carries what its receiver needs to verify it: a sequence number, a checksum, and content that depends on
 * the number. After the Ethernet header come 8 bytes of sequence number, 8 of checksum, then the content.
 */
final class ProbeFrame {
    /** IEEE Std 802 local experimental ethertype 1: no kernel acts on it. */
    static final int ETHERTYPE = 0x88b5;
    static final int MIN_BYTES = 60;
    private static final int SEQUENCE_OFFSET = 14;
    private static final int CHECKSUM_OFFSET = 22;
    private static final int CONTENT_OFFSET = 30;
    /** An odd factor, so that multiplication loses no bits: a single changed word always changes the checksum. */
    private static final long MULTIPLIER = 0x9e3779b97f4a7c15L;

    private ProbeFrame() {
    }

    /** Writes addresses (48 bits each) and ethertype. */
    static void writeHeader(ByteBuf frame, long destination, long source) {
        EthernetAddresses.write(frame, destination, source);
        frame.setShort(12, ETHERTYPE);
    }

    /** Writes everything after the header. */
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

    /** Returns whether the frame has its length and the content that belongs to its sequence number. */
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
