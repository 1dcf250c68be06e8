package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.util.IllegalReferenceCountException;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpHeaderCodec;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.InternetChecksum;

/**
 * Encodes segments of the TCP engine as frames. The headers are written to a slot. Payload in registered memory is sent
 * in place as further parts of the frame, and on software devices payload in any direct memory. Other payload is
 * copied, and so is payload below {@value #MIN_IN_PLACE_BYTES} bytes or with more parts than a frame may have. The
 * device cuts segments that are longer than the segment size (TSO). If it supports checksum offload, it also computes
 * the checksums of longer payloads. Used on the loop's thread only.
 */
final class TcpFrameBuilder {
    /**
     * Shorter payloads are copied. The copy costs less than another gather element, and the checksum of bytes that were
     * just copied costs less than the offload.
     */
    private static final int MIN_IN_PLACE_BYTES = 256;

    private final FrameQueue queue;
    private final boolean offload;
    private final boolean sendsAllMemory;
    private final int slotBytes;
    private final int maxSegmentedBytes;
    private final ByteBuf[] buffers = new ByteBuf[Segment.MAX_SLICES];
    private final int[] indices = new int[Segment.MAX_SLICES];
    private final int[] lengthsBytes = new int[Segment.MAX_SLICES];
    private long copiedSegments;

    /**
     * @param segmentation whether the device segments long payloads, if it can
     * @param sendsAllMemory whether to send payload in place even if it is not in registered memory; requires on-demand
     *     paging of the queue
     */
    TcpFrameBuilder(FrameQueue queue, boolean segmentation, boolean sendsAllMemory) {
        this.queue = queue;
        offload = queue.offloadsChecksums();
        slotBytes = queue.slots().slotBytes();
        this.sendsAllMemory = sendsAllMemory;
        // Payload that cannot be sent in place is copied into slots, and each slot is one part.
        int maxCopiedBytes = sendsAllMemory ? Integer.MAX_VALUE
                : Math.min(queue.maxParts(), Segment.MAX_SLICES) * slotBytes;
        maxSegmentedBytes = segmentation ? Math.min(TcpConfig.MAX_SEGMENTATION_BYTES,
                Math.min(queue.maxSegmentedBytes(), maxCopiedBytes)) : 0;
    }

    /** Returns the maximum payload length of a frame that the device segments; 0 if it does not segment. */
    int maxSegmentedBytes() {
        return maxSegmentedBytes;
    }

    /**
     * Returns the maximum payload length for segmentation with the slots that are free now. One slot is used for the
     * headers and the others for copies.
     */
    int segmentedRoomBytes() {
        if (sendsAllMemory) {
            return maxSegmentedBytes;
        }
        int slots = Math.min(queue.slots().available() - 1, Segment.MAX_SLICES);
        return Math.min(maxSegmentedBytes, slots * slotBytes);
    }

    /** Returns the number of segments copied because their payload was unregistered or had too many parts. */
    long copiedSegments() {
        return copiedSegments;
    }

    /** Returns whether a segment can be written now. */
    boolean hasRoom() {
        return queue.sendRoom() > 0 && queue.slots().available() > 0;
    }

    /**
     * Writes a segment to the queue and consumes its payload. Call it only if {@link #hasRoom()}.
     *
     * @param targetMac destination MAC address
     * @throws IllegalReferenceCountException if a buffer of the payload has been released; nothing is written then
     */
    void write(Segment segment, long sourceMac, long targetMac) {
        FrameBuf frame = begin(segment, sourceMac, targetMac);
        try {
            offer(segment, frame);
        } catch (IllegalReferenceCountException e) {
            frame.release();
            throw e;
        }
    }

    private void offer(Segment segment, FrameBuf frame) {
        if (segment.segmentSizeBytes() > 0) {
            offerSegmented(segment, frame);
        } else if (segment.payloadLength() >= MIN_IN_PLACE_BYTES) {
            offerLong(segment, frame);
        } else {
            queue.offer(copied(segment, frame));
        }
    }

    /**
     * Returns a frame without destination MAC address. Occupies a slot during the call.
     *
     * @param segment a segment that does not need segmentation by the device
     * @throws IllegalReferenceCountException if a buffer of the payload has been released
     */
    byte[] writeUnaddressed(Segment segment, long sourceMac) {
        FrameBuf frame = begin(segment, sourceMac, 0);
        try {
            copied(segment, frame);
            byte[] bytes = new byte[frame.readableBytes()];
            frame.readBytes(bytes);
            return bytes;
        } finally {
            frame.release();
        }
    }

    private FrameBuf begin(Segment segment, long sourceMac, long targetMac) {
        FrameBuf frame = queue.slots().take();
        EthernetHeader.write(frame.memoryAddress(), targetMac, sourceMac,
                TcpHeaderCodec.isIpv4(segment) ? EtherType.IPV4 : EtherType.IPV6);
        frame.writerIndex(EthernetHeader.LENGTH_BYTES + TcpHeaderCodec.lengthBytes(segment));
        return frame;
    }

    /**
     * Writes a frame that the device segments. For each segment the device sets lengths and checksums and increments
     * the IPv4 identification and the sequence number.
     */
    private void offerSegmented(Segment segment, FrameBuf frame) {
        TcpHeaderCodec.write(segment, ipAddress(frame), 0);
        int segmentBytes = segment.segmentSizeBytes();
        if (isInPlace(segment)) {
            int count = takeSlices(segment);
            queue.offerSegmented(frame, buffers, indices, lengthsBytes, count, segmentBytes);
            segment.detachPayload();
        } else {
            int count = copies(segment, frame);
            queue.offerSegmented(frame, buffers, indices, lengthsBytes, count, segmentBytes);
            segment.transmitted();
        }
    }

    private void offerLong(Segment segment, FrameBuf frame) {
        if (!isInPlace(segment)) {
            offerCopied(segment, frame);
            return;
        }
        int count = takeSlices(segment);
        TcpHeaderCodec.write(segment, ipAddress(frame), offload ? 0 : sumOfSlices(count));
        queue.offer(frame, buffers, indices, lengthsBytes, count, offload);
        segment.detachPayload();
    }

    private void offerCopied(Segment segment, FrameBuf frame) {
        if (offload) {
            copyBehind(segment, frame);
            TcpHeaderCodec.write(segment, ipAddress(frame), 0);
            segment.transmitted();
            queue.offer(frame, Unpooled.EMPTY_BUFFER, true);
        } else {
            queue.offer(copied(segment, frame));
        }
    }

    private boolean isInPlace(Segment segment) {
        int count = segment.sliceCount();
        boolean inPlace = count <= queue.maxParts();
        for (int i = 0; i < count && inPlace; i++) {
            ByteBuf buffer = segment.sliceBuffer(i);
            inPlace = sendsAllMemory ? buffer.hasMemoryAddress()
                    : queue.isRegistered(buffer, segment.sliceIndex(i), segment.sliceLength(i));
        }
        if (!inPlace) {
            copiedSegments += segment.segmentCount();
        }
        return inPlace;
    }

    /** Retains each part for as long as the device reads it. Returns the number of parts. */
    private int takeSlices(Segment segment) {
        segment.retainPayload();
        int count = segment.sliceCount();
        for (int i = 0; i < count; i++) {
            buffers[i] = segment.sliceBuffer(i);
            indices[i] = segment.sliceIndex(i);
            lengthsBytes[i] = segment.sliceLength(i);
        }
        return count;
    }

    private long sumOfSlices(int count) {
        long sum = 0;
        int offset = 0;
        for (int i = 0; i < count; i++) {
            long part = InternetChecksum.sum(buffers[i].memoryAddress() + indices[i], lengthsBytes[i]);
            sum = (offset & 1) == 0 ? sum + part : InternetChecksum.addAtOddOffset(sum, part);
            offset += lengthsBytes[i];
        }
        return sum;
    }

    /** Copies the payload and retains its buffers for the time of the copy. Returns the number of parts. */
    private int copies(Segment segment, FrameBuf frame) {
        segment.retainPayload();
        return sendsAllMemory ? copyTogether(segment, frame) : copyToSlots(segment);
    }

    /** Copies the payload into a new buffer, because it is on the heap or has more buffers than a frame has parts. */
    private int copyTogether(Segment segment, FrameBuf frame) {
        ByteBuf copy;
        try {
            copy = ByteBufAllocator.DEFAULT.directBuffer(segment.payloadLength());
        } catch (OutOfMemoryError e) {
            frame.release();
            segment.transmitted();
            throw e;
        }
        for (int i = 0; i < segment.sliceCount(); i++) {
            copy.writeBytes(segment.sliceBuffer(i), segment.sliceIndex(i), segment.sliceLength(i));
        }
        buffers[0] = copy;
        indices[0] = 0;
        lengthsBytes[0] = copy.readableBytes();
        return 1;
    }

    /** Copies the payload into slots. {@link #segmentedRoomBytes()} has limited it to the slots that are free. */
    private int copyToSlots(Segment segment) {
        int count = 0;
        FrameBuf slot = null;
        for (int i = 0; i < segment.sliceCount(); i++) {
            int index = segment.sliceIndex(i);
            int end = index + segment.sliceLength(i);
            while (index < end) {
                if (slot == null || slot.writerIndex() == slotBytes) {
                    slot = queue.slots().take();
                    buffers[count] = slot;
                    indices[count] = 0;
                    lengthsBytes[count++] = 0;
                }
                int bytes = Math.min(end - index, slotBytes - slot.writerIndex());
                slot.writeBytes(segment.sliceBuffer(i), index, bytes);
                lengthsBytes[count - 1] += bytes;
                index += bytes;
            }
        }
        return count;
    }

    private static FrameBuf copied(Segment segment, FrameBuf frame) {
        long payload = frame.memoryAddress() + frame.writerIndex();
        int payloadBytes = segment.payloadLength();
        copyBehind(segment, frame);
        long sum = payloadBytes == 0 ? 0 : InternetChecksum.sum(payload, payloadBytes);
        TcpHeaderCodec.write(segment, ipAddress(frame), sum);
        segment.transmitted();
        return frame;
    }

    private static void copyBehind(Segment segment, FrameBuf frame) {
        for (int i = 0; i < segment.sliceCount(); i++) {
            frame.writeBytes(segment.sliceBuffer(i), segment.sliceIndex(i), segment.sliceLength(i));
        }
    }

    private static long ipAddress(FrameBuf frame) {
        return frame.memoryAddress() + EthernetHeader.LENGTH_BYTES;
    }
}
