package io.rdmaraw.testsuite.tcp;

import io.netty.buffer.ByteBuf;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Random;

/**
 * A long stream that repeats a random block. No segment size divides the length of the block, so a comparison detects
 * data at a wrong position.
 */
final class BulkContent {
    private static final int BLOCK_BYTES = 1_000_003;

    private final byte[] block = new byte[BLOCK_BYTES];

    BulkContent(long seed) {
        new Random(seed).nextBytes(block);
    }

    /**
     * Writes up to {@code count} bytes of the stream to a buffer, but not beyond the end of the current block.
     * Returns the number of bytes written.
     */
    int write(long position, ByteBuf to, long count) {
        int from = (int) (position % BLOCK_BYTES);
        int bytes = (int) Math.min(count, BLOCK_BYTES - from);
        to.writeBytes(block, from, bytes);
        return bytes;
    }

    /** Like {@link #write(long, ByteBuf, long)}, but writes to the start of an array. */
    int write(long position, byte[] to, long count) {
        int from = (int) (position % BLOCK_BYTES);
        int bytes = (int) Math.min(Math.min(count, to.length), BLOCK_BYTES - from);
        System.arraycopy(block, from, to, 0, bytes);
        return bytes;
    }

    /** Returns the digest of the first {@code count} bytes of the stream. */
    String digest(long count) {
        MessageDigest digest = newDigest();
        for (long left = count; left > 0; left -= BLOCK_BYTES) {
            digest.update(block, 0, (int) Math.min(left, BLOCK_BYTES));
        }
        return text(digest);
    }

    static MessageDigest newDigest() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every JDK has SHA-256", e);
        }
    }

    static void update(MessageDigest digest, ByteBuf data) {
        for (ByteBuffer part : data.nioBuffers()) {
            digest.update(part);
        }
    }

    static String text(MessageDigest digest) {
        return HexFormat.of().formatHex(digest.digest());
    }
}
