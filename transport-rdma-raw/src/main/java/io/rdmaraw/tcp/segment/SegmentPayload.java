package io.rdmaraw.tcp.segment;

import io.netty.buffer.ByteBuf;
import io.netty.util.IllegalReferenceCountException;

/**
 * The payload of a {@link Segment}: slices of buffers, which on the way out are borrowed from the connection, and
 * whether the device is to cut them into several segments.
 */
abstract class SegmentPayload {
    public int payloadLength;
    public int segmentSize;
    public int sliceCount;
    public final ByteBuf[] buffers = new ByteBuf[Segment.MAX_SLICES];
    public final int[] indices = new int[Segment.MAX_SLICES];
    public final int[] lengths = new int[Segment.MAX_SLICES];
    /** The slices come without references of their own. */
    private boolean borrowed;

    /** Bytes of payload over all slices. */
    public int payloadLength() {
        return payloadLength;
    }

    public int sliceCount() {
        return sliceCount;
    }

    /**
     * 0 for a segment that goes out as it is. Else what the device is to cut the payload into: TCP segments of so many
     * bytes, the last perhaps shorter, each with these headers but for its sequence number, and with PSH and FIN in the
     * last only. CWR is never set then. See {@code TcpConfig.Builder.segmentationBytes}.
     */
    public int segmentSizeBytes() {
        return segmentSize;
    }

    /** TCP segments this is on the wire: 1, unless the device cuts it, or it was put together of several received. */
    public int segmentCount() {
        return segmentSize == 0 ? 1 : (payloadLength + segmentSize - 1) / segmentSize;
    }

    public ByteBuf sliceBuffer(int i) {
        return buffers[i];
    }

    /** Where slice {@code i} begins in its buffer. */
    public int sliceIndex(int i) {
        return indices[i];
    }

    public int sliceLength(int i) {
        return lengths[i];
    }

    /** Adds a slice that comes with a reference of its own, or whose buffer the caller keeps. */
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
     * Adds a slice whose buffer another owns, who keeps it while the segment is in use. All slices of a segment are
     * borrowed, or none.
     *
     * @throws IllegalReferenceCountException if the buffer has been released already
     */
    public void borrowSlice(ByteBuf buffer, int index, int length) {
        if (buffer.refCnt() <= 0) {
            throw new IllegalReferenceCountException(buffer.refCnt());
        }
        if (!borrowed && sliceCount > 0) {
            throw new IllegalStateException("The slices of this segment are its own; it cannot borrow others");
        }
        borrowed = true;
        add(buffer, index, length);
    }

    /**
     * Makes borrowed slices the segment's own: takes one reference to each, because the bytes are needed beyond the
     * next call of the engine. A second call takes none, and neither does one for a segment that was received.
     * {@link #transmitted()} releases them; a caller of {@link #detachPayload()} has to.
     *
     * @throws IllegalReferenceCountException if a buffer has been released; no reference is taken then
     */
    public void retainPayload() {
        if (!borrowed) {
            return;
        }
        int taken = 0;
        try {
            for (; taken < sliceCount; taken++) {
                buffers[taken].retain();
            }
            borrowed = false;
        } finally {
            while (borrowed && taken > 0) {
                buffers[--taken].release();
            }
        }
    }

    /** Keeps the first bytes of the payload, at least one, and gives up the slices behind them. */
    public void truncate(int lengthBytes) {
        int excess = payloadLength - lengthBytes;
        while (excess > 0 && lengths[sliceCount - 1] <= excess) {
            sliceCount--;
            excess -= lengths[sliceCount];
            giveUp(sliceCount);
        }
        if (excess > 0) {
            lengths[sliceCount - 1] -= excess;
        }
        payloadLength = Math.min(payloadLength, lengthBytes);
        segmentSize = lengthBytes <= segmentSize ? 0 : segmentSize;
    }

    private void giveUp(int slice) {
        if (!borrowed) {
            buffers[slice].release();
        }
        buffers[slice] = null;
    }

    /** This transmission is complete: releases the slices, but for those that are borrowed, and forgets them. */
    public void transmitted() {
        for (int i = 0; i < sliceCount; i++) {
            giveUp(i);
        }
        noPayload();
    }

    /**
     * Forgets the payload without releasing it: the object that copied the slices now owns their references.
     *
     * @throws IllegalStateException if they have none: {@link #retainPayload()} comes first
     */
    public void detachPayload() {
        if (borrowed) {
            throw new IllegalStateException("The slices of this segment are borrowed; call retainPayload() first");
        }
        forgetPayload();
    }

    /** Forgets the payload and leaves all references as they are. */
    final void forgetPayload() {
        for (int i = 0; i < sliceCount; i++) {
            buffers[i] = null;
        }
        noPayload();
    }

    private void noPayload() {
        sliceCount = 0;
        payloadLength = 0;
        segmentSize = 0;
        borrowed = false;
    }
}
