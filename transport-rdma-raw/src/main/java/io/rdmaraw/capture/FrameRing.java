package io.rdmaraw.capture;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * A ring of captured frames, with one thread that adds and one that removes. A record consists of a header and the
 * bytes of the frame, and does not wrap around the end.
 */
final class FrameRing {
    /** Length of the header of {@link #removeTo} without texts. With texts it is less than that of a record. */
    static final int REMOVED_HEADER_BYTES = 22;
    static final int HEADER_BYTES = 64;
    private static final int REASON_OFFSET = 24;
    private static final int REASON_BYTES = 24;
    private static final int CHANNEL_OFFSET = REASON_OFFSET + REASON_BYTES;
    private static final int CHANNEL_BYTES = HEADER_BYTES - CHANNEL_OFFSET;
    private static final int ALIGNMENT = 8;
    /** In place of a length: the next record is at the start of the array. */
    private static final int SKIP = -1;
    private static final VarHandle INT =
            MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.nativeOrder());
    private static final VarHandle LONG =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final VarHandle PRODUCED;
    private static final VarHandle CONSUMED;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            PRODUCED = lookup.findVarHandle(FrameRing.class, "produced", long.class);
            CONSUMED = lookup.findVarHandle(FrameRing.class, "consumed", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final byte[] bytes;
    /** Number of bytes added so far. */
    private long produced;
    /** Number of bytes removed so far. */
    private long consumed;
    /** A value of {@link #consumed} that the producer has read. */
    private long knownConsumed;
    private int reservedStart;
    private int reservedBytes;

    /**
     * Creates a ring.
     *
     * @param minBytes   minimum capacity
     * @param frameBytes maximum number of captured bytes of a frame; two such frames fit in
     */
    FrameRing(int minBytes, int frameBytes) {
        bytes = new byte[capacityBytes(minBytes, frameBytes)];
    }

    /** Returns the capacity of a ring with these arguments. */
    static int capacityBytes(int minBytes, int frameBytes) {
        int least = Math.max(minBytes, 2 * align(HEADER_BYTES + frameBytes));
        return Integer.highestOneBit(least - 1) << 1;
    }

    private static int align(int length) {
        return length + ALIGNMENT - 1 & -ALIGNMENT;
    }

    /** Returns the array in which {@link #reserve} finds room. */
    byte[] array() {
        return bytes;
    }

    /**
     * Finds room for a frame. Called by the producer, which then writes the bytes and calls {@link #publish}.
     *
     * @return index in {@link #array()} for the bytes of the frame, or -1 if the ring is full
     */
    int reserve(int capturedBytes) {
        int length = align(HEADER_BYTES + capturedBytes);
        int start = (int) produced & bytes.length - 1;
        int toEnd = bytes.length - start;
        int total = length <= toEnd ? length : toEnd + length;
        if (bytes.length - (produced - knownConsumed) < total) {
            knownConsumed = (long) CONSUMED.getAcquire(this);
            if (bytes.length - (produced - knownConsumed) < total) {
                return -1;
            }
        }
        if (length > toEnd) {
            INT.set(bytes, start, SKIP);
            start = 0;
        }
        reservedStart = start;
        reservedBytes = total;
        return start + HEADER_BYTES;
    }

    /**
     * Makes the reserved record visible to the consumer.
     *
     * @param channel ID of the channel, or an empty text
     * @return the position of the record, for {@link #setReason}
     */
    long publish(long timeNanos, int capturedBytes, int frameBytes, boolean sent, String channel) {
        INT.set(bytes, reservedStart, capturedBytes);
        INT.set(bytes, reservedStart + 4, frameBytes);
        INT.set(bytes, reservedStart + 8, sent ? 1 : 0);
        LONG.set(bytes, reservedStart + 16, timeNanos);
        putText(reservedStart + REASON_OFFSET, REASON_BYTES, "");
        putText(reservedStart + CHANNEL_OFFSET, CHANNEL_BYTES, channel);
        long end = produced + reservedBytes;
        PRODUCED.setRelease(this, end);
        return end - align(HEADER_BYTES + capturedBytes);
    }

    /**
     * Adds to a published record why its frame was dropped. Called by the producer. The consumer sees the text if it
     * removes the record later, after an action that synchronises with the producer.
     *
     * @param position result of {@link #publish}. If the record was overwritten since, nothing happens
     */
    void setReason(long position, String reason) {
        if (produced - position <= bytes.length) {
            putText(((int) position & bytes.length - 1) + REASON_OFFSET, REASON_BYTES, reason);
        }
    }

    /** Adds the channel to a published record that has none, as {@link #setReason} does. */
    void setChannel(long position, String channel) {
        int index = ((int) position & bytes.length - 1) + CHANNEL_OFFSET;
        if (produced - position <= bytes.length && bytes[index] == 0) {
            putText(index, CHANNEL_BYTES, channel);
        }
    }

    /**
     * Writes a text in ASCII, cut off to the length of its field, and fills the rest with zeros. If the consumer reads
     * while {@link #setReason} writes, it then finds part of the text, but no bytes of an older record.
     */
    private void putText(int index, int fieldBytes, String text) {
        int length = Math.min(fieldBytes, text.length());
        for (int i = 0; i < length; i++) {
            bytes[index + i] = (byte) text.charAt(i);
        }
        Arrays.fill(bytes, index + length, index + fieldBytes, (byte) 0);
    }

    private int textBytes(int index, int fieldBytes) {
        int length = 0;
        while (length < fieldBytes && bytes[index + length] != 0) {
            length++;
        }
        return length;
    }

    /** Returns an upper bound of the bytes of all records, as {@link #removeTo} writes them. */
    int occupiedBytes() {
        return (int) ((long) PRODUCED.getAcquire(this) - consumed);
    }

    /** Returns the time of the oldest record, or {@code Long.MAX_VALUE} if there is none. Called by the consumer. */
    long oldestNanos() {
        if ((long) PRODUCED.getAcquire(this) == consumed) {
            return Long.MAX_VALUE;
        }
        return (long) LONG.get(bytes, oldestStart() + 16);
    }

    private int oldestStart() {
        int start = (int) consumed & bytes.length - 1;
        return (int) INT.get(bytes, start) == SKIP ? 0 : start;
    }

    /**
     * Removes the oldest record and writes it to a buffer: source and direction, captured bytes, length, time, reason
     * of a drop, channel, bytes. A byte with its length precedes each text. Called by the consumer if
     * {@link #oldestNanos} has found a record.
     *
     * @return false if the buffer has no room; the record then stays
     */
    boolean removeTo(ByteBuffer out, int source) {
        int start = oldestStart();
        int capturedBytes = (int) INT.get(bytes, start);
        int reasonBytes = textBytes(start + REASON_OFFSET, REASON_BYTES);
        int channelBytes = textBytes(start + CHANNEL_OFFSET, CHANNEL_BYTES);
        if (out.remaining() < REMOVED_HEADER_BYTES + reasonBytes + channelBytes + capturedBytes) {
            return false;
        }
        out.putInt(source << 1 | (int) INT.get(bytes, start + 8)).putInt(capturedBytes)
                .putInt((int) INT.get(bytes, start + 4)).putLong((long) LONG.get(bytes, start + 16))
                .put((byte) reasonBytes).put(bytes, start + REASON_OFFSET, reasonBytes)
                .put((byte) channelBytes).put(bytes, start + CHANNEL_OFFSET, channelBytes)
                .put(bytes, start + HEADER_BYTES, capturedBytes);
        int toEnd = start == 0 ? (bytes.length - ((int) consumed & bytes.length - 1)) & bytes.length - 1 : 0;
        CONSUMED.setRelease(this, consumed + toEnd + align(HEADER_BYTES + capturedBytes));
        return true;
    }
}
