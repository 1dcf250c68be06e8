package io.rdmaraw.capture;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A ring of captured frames, with one thread that adds and one that removes. A record consists of a header and the
 * bytes of the frame, and does not wrap around the end.
 */
final class FrameRing {
    /** Length of the header of {@link #removeTo}, at most that of a record in the ring. */
    static final int REMOVED_HEADER_BYTES = 20;
    private static final int HEADER_BYTES = 24;
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

    /** Makes the reserved record visible to the consumer. */
    void publish(long timeNanos, int capturedBytes, int frameBytes, boolean sent) {
        INT.set(bytes, reservedStart, capturedBytes);
        INT.set(bytes, reservedStart + 4, frameBytes);
        INT.set(bytes, reservedStart + 8, sent ? 1 : 0);
        LONG.set(bytes, reservedStart + 16, timeNanos);
        PRODUCED.setRelease(this, produced + reservedBytes);
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
     * Removes the oldest record and writes it to a buffer: source and direction, captured bytes, length, time, bytes.
     * Called by the consumer if {@link #oldestNanos} has found a record.
     *
     * @return false if the buffer has no room; the record then stays
     */
    boolean removeTo(ByteBuffer out, int source) {
        int start = oldestStart();
        int capturedBytes = (int) INT.get(bytes, start);
        if (out.remaining() < REMOVED_HEADER_BYTES + capturedBytes) {
            return false;
        }
        out.putInt(source << 1 | (int) INT.get(bytes, start + 8)).putInt(capturedBytes)
                .putInt((int) INT.get(bytes, start + 4)).putLong((long) LONG.get(bytes, start + 16))
                .put(bytes, start + HEADER_BYTES, capturedBytes);
        int toEnd = start == 0 ? (bytes.length - ((int) consumed & bytes.length - 1)) & bytes.length - 1 : 0;
        CONSUMED.setRelease(this, consumed + toEnd + align(HEADER_BYTES + capturedBytes));
        return true;
    }
}
