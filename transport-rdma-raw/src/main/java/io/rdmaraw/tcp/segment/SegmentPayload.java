package io.rdmaraw.tcp.segment;

import io.netty.buffer.ByteBuf;
import io.netty.util.IllegalReferenceCountException;

/**
 * The payload of a {@link Segment}: slices of buffers, which an output segment borrows from its connection, and
 * the segment size for segmentation offload.
 */
abstract class SegmentPayload {
    public int payloadLength;
    public int segmentSizeBytes;
    public int sliceCount;
    public final ByteBuf[] buffers = new ByteBuf[Segment.MAX_SLICES];
    public final int[] indices = new int[Segment.MAX_SLICES];
    public final int[] lengths = new int[Segment.MAX_SLICES];
    /** The slices do not hold references to their buffers. */
    private boolean borrowed;

    /** Returns the payload length over all slices in bytes. */
    public int payloadLength() {
        return payloadLength;
    }

    public int sliceCount() {
        return sliceCount;
    }

    /**
     * Returns the segment size for segmentation offload, or 0 if the segment is sent as it is. The device divides the
     * payload into TCP segments of this size; the last may be shorter. Each has a copy of these headers with its own
     * sequence number; PSH and FIN are set only in the last. CWR is never set on such a segment. See
     * {@code TcpConfig.Builder.segmentationBytes}.
     */
    public int segmentSizeBytes() {
        return segmentSizeBytes;
    }

    /**
     * Returns the number of TCP segments on the wire: 1, unless the device segments it (TSO) or it was merged from
     * several received segments (GRO).
     */
    public int segmentCount() {
        return segmentSizeBytes == 0 ? 1 : (payloadLength + segmentSizeBytes - 1) / segmentSizeBytes;
    }

    public ByteBuf sliceBuffer(int i) {
        return buffers[i];
    }

    /** Returns the index in the buffer at which slice {@code i} starts. */
    public int sliceIndex(int i) {
        return indices[i];
    }

    public int sliceLength(int i) {
        return lengths[i];
    }

    /**
     * Adds a slice. The caller either passes a reference to the buffer, or keeps the buffer alive while the segment is
     * used.
     */
    public void addSlice(ByteBuf buffer, int index, int length) {
        if (borrowed) {
            throw new IllegalStateException("The slices of this segment are borrowed; call retainPayload() first");
        }
        add(buffer, index, length);
    }

    private void add(ByteBuf buffer, int index, int length) {
        buffers[sliceCount] = buffer;
        indices[sliceCount] = index;
        lengths[sliceCount] = length;
        sliceCount++;
        payloadLength += length;
    }

    /**
     * Adds a slice without a reference. The owner of the buffer keeps it alive while the segment is in use.
     * Either all slices of a segment are borrowed or none.
     *
     * @throws IllegalReferenceCountException if the buffer was already released
     */
    public void borrowSlice(ByteBuf buffer, int index, int length) {
        if (buffer.refCnt() <= 0) {
            throw new IllegalReferenceCountException(buffer.refCnt());
        }
        if (!borrowed && sliceCount > 0) {
            throw new IllegalStateException("The slices of this segment hold references; it cannot borrow others");
        }
        borrowed = true;
        add(buffer, index, length);
    }

    /**
     * Retains the borrowed slices, so that they stay valid beyond the next call of the engine. Has no effect if
     * the segment already owns its slices, as received segments do. Release them by {@link #releasePayload()}, or
     * after {@link #detachPayload()} yourself.
     *
     * @throws IllegalReferenceCountException if a buffer was released; no reference is retained in this case
     */
    public void retainPayload() {
        if (!borrowed) {
            return;
        }
        int retained = 0;
        try {
            for (; retained < sliceCount; retained++) {
                buffers[retained].retain();
            }
            borrowed = false;
        } finally {
            while (borrowed && retained > 0) {
                buffers[--retained].release();
            }
        }
    }

    /** Truncates the payload to {@code lengthBytes}, at least one, and releases the slices beyond. */
    public void truncate(int lengthBytes) {
        int excess = payloadLength - lengthBytes;
        while (excess > 0 && lengths[sliceCount - 1] <= excess) {
            sliceCount--;
            excess -= lengths[sliceCount];
            releaseSlice(sliceCount);
        }
        if (excess > 0) {
            lengths[sliceCount - 1] -= excess;
        }
        payloadLength = Math.min(payloadLength, lengthBytes);
        segmentSizeBytes = lengthBytes <= segmentSizeBytes ? 0 : segmentSizeBytes;
    }

    private void releaseSlice(int slice) {
        if (!borrowed) {
            buffers[slice].release();
        }
        buffers[slice] = null;
    }

    /**
     * Releases the slices unless they are borrowed, and clears the payload. Called when the transmission is
     * complete.
     */
    public void releasePayload() {
        for (int i = 0; i < sliceCount; i++) {
            releaseSlice(i);
        }
        resetPayload();
    }

    /**
     * Clears the payload without releasing it. The object that has copied the slices now owns their references.
     *
     * @throws IllegalStateException if the slices are borrowed; call {@link #retainPayload()} first
     */
    public void detachPayload() {
        if (borrowed) {
            throw new IllegalStateException("The slices of this segment are borrowed; call retainPayload() first");
        }
        clearPayload();
    }

    /** Clears the payload without changing any reference count. */
    final void clearPayload() {
        for (int i = 0; i < sliceCount; i++) {
            buffers[i] = null;
        }
        resetPayload();
    }

    private void resetPayload() {
        sliceCount = 0;
        payloadLength = 0;
        segmentSizeBytes = 0;
        borrowed = false;
    }
}
