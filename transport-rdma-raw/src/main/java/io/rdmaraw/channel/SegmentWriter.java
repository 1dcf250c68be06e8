package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.tcp.Segment;
import io.rdmaraw.tcp.SegmentHeaders;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.InternetChecksum;

/**
 * Writes segments of the TCP core as frames: the headers into a slot, the payload as further parts of the frame where
 * it lies in registered memory, or copied behind the headers. For the loop's thread.
 */
final class SegmentWriter {
    /** Below this the copy costs less than another element for the device to fetch. */
    private static final int LEAST_IN_PLACE_BYTES = 256;

    private final FrameQueue queue;
    private final ByteBuf[] buffers = new ByteBuf[Segment.MAX_SLICES];
    private final int[] indices = new int[Segment.MAX_SLICES];
    private final int[] lengthsBytes = new int[Segment.MAX_SLICES];
    private long copiedSegments;

    SegmentWriter(FrameQueue queue) {
        this.queue = queue;
    }

    /** Returns how many segments had payload that lies in no registered memory, or in too many parts. */
    long copiedSegments() {
        return copiedSegments;
    }

    /** Tells whether a segment can be written now. */
    boolean hasRoom() {
        return queue.sendRoom() > 0 && queue.slots().available() > 0;
    }

    /**
     * Offers a segment to the queue, which {@link #hasRoom()}. The segment's payload is taken.
     *
     * @param targetMac where the frame goes
     */
    void write(Segment segment, long sourceMac, long targetMac) {
        FrameBuf frame = begin(segment, sourceMac, targetMac);
        if (segment.payloadLength() >= LEAST_IN_PLACE_BYTES && isInPlace(segment)) {
            offerInPlace(segment, frame);
        } else {
            queue.offer(copied(segment, frame));
        }
    }

    /** Returns a segment as a frame that lacks the destination's MAC address. */
    FrameBuf writeUnaddressed(Segment segment, long sourceMac) {
        return copied(segment, begin(segment, sourceMac, 0));
    }

    private FrameBuf begin(Segment segment, long sourceMac, long targetMac) {
        FrameBuf frame = queue.slots().take();
        EthernetHeader.write(frame.memoryAddress(), targetMac, sourceMac,
                SegmentHeaders.isIpv4(segment) ? EtherType.IPV4 : EtherType.IPV6);
        frame.writerIndex(EthernetHeader.LENGTH_BYTES + SegmentHeaders.lengthBytes(segment));
        return frame;
    }

    private boolean isInPlace(Segment segment) {
        int count = segment.sliceCount();
        boolean registered = count <= queue.maxParts();
        for (int i = 0; i < count && registered; i++) {
            registered = queue.isRegistered(segment.sliceBuffer(i), segment.sliceIndex(i), segment.sliceLength(i));
        }
        if (!registered) {
            copiedSegments++;
        }
        return registered;
    }

    private void offerInPlace(Segment segment, FrameBuf frame) {
        int count = segment.sliceCount();
        long sum = 0;
        int offset = 0;
        for (int i = 0; i < count; i++) {
            buffers[i] = segment.sliceBuffer(i);
            indices[i] = segment.sliceIndex(i);
            lengthsBytes[i] = segment.sliceLength(i);
            long part = InternetChecksum.sum(buffers[i].memoryAddress() + indices[i], lengthsBytes[i]);
            sum = (offset & 1) == 0 ? sum + part : InternetChecksum.addAtOddOffset(sum, part);
            offset += lengthsBytes[i];
        }
        SegmentHeaders.write(segment, frame.memoryAddress() + EthernetHeader.LENGTH_BYTES, sum);
        queue.offer(frame, buffers, indices, lengthsBytes, count);
        segment.detachPayload();
    }

    private static FrameBuf copied(Segment segment, FrameBuf frame) {
        long payload = frame.memoryAddress() + frame.writerIndex();
        int payloadBytes = segment.payloadLength();
        for (int i = 0; i < segment.sliceCount(); i++) {
            frame.writeBytes(segment.sliceBuffer(i), segment.sliceIndex(i), segment.sliceLength(i));
        }
        long sum = payloadBytes == 0 ? 0 : InternetChecksum.sum(payload, payloadBytes);
        SegmentHeaders.write(segment, frame.memoryAddress() + EthernetHeader.LENGTH_BYTES, sum);
        segment.transmitted();
        return frame;
    }
}
