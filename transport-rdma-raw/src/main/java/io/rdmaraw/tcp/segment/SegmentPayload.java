package io.rdmaraw.tcp.segment;

import io.netty.buffer.ByteBuf;

/**
 * The payload of a {@link Segment}: slices of buffers, each with a reference of its own on the way out, and whether the
 * device is to cut them into several segments.
 */
abstract class SegmentPayload {
    public int payloadLength;
    public int segmentSize;
    public int sliceCount;
    public final ByteBuf[] buffers = new ByteBuf[Segment.MAX_SLICES];
    public final int[] indices = new int[Segment.MAX_SLICES];
    public final int[] lengths = new int[Segment.MAX_SLICES];

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

    public void addSlice(ByteBuf buffer, int index, int length) {
        buffers[sliceCount] = buffer;
        indices[sliceCount] = index;
        lengths[sliceCount] = length;
        sliceCount++;
        payloadLength += length;
    }

    /** Keeps the first bytes of the payload, at least one, and releases the references to slices behind them. */
    public void truncate(int lengthBytes) {
        int excess = payloadLength - lengthBytes;
        while (excess > 0 && lengths[sliceCount - 1] <= excess) {
            sliceCount--;
            excess -= lengths[sliceCount];
            buffers[sliceCount].release();
            buffers[sliceCount] = null;
        }
        if (excess > 0) {
            lengths[sliceCount - 1] -= excess;
        }
        payloadLength = Math.min(payloadLength, lengthBytes);
        segmentSize = lengthBytes <= segmentSize ? 0 : segmentSize;
    }

    /** This transmission is complete: releases the references that came with the slices, and forgets them. */
    public void transmitted() {
        for (int i = 0; i < sliceCount; i++) {
            buffers[i].release();
            buffers[i] = null;
        }
        sliceCount = 0;
        payloadLength = 0;
        segmentSize = 0;
    }

    /** Forgets the payload without releasing it: the object that copied the slices now owns their references. */
    public void detachPayload() {
        for (int i = 0; i < sliceCount; i++) {
            buffers[i] = null;
        }
        sliceCount = 0;
        payloadLength = 0;
        segmentSize = 0;
    }
}
