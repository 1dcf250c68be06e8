package io.rdmaraw.tcp.stack.send;

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
public final class TcpFrameBuilder {
    /**
     * Shorter payloads are copied. The copy costs less than another gather element, and the checksum of bytes that were
     * just copied costs less than the offload.
     */
    private static final int MIN_IN_PLACE_BYTES = 256;

    private final FrameQueue queue;
    private final boolean checksumOffload;
    private final boolean onDemandPaging;
    private final int slotCapacityBytes;
    private final int maxTsoBytes;
    private final ByteBuf[] buffers = new ByteBuf[Segment.MAX_SLICES];
    private final int[] indices = new int[Segment.MAX_SLICES];
    private final int[] lengthsBytes = new int[Segment.MAX_SLICES];
    private long copiedSegments;

    /**
     * @param segmentation whether the device segments long payloads, if it can
     * @param onDemandPaging whether to send payload in place even if it is not in registered memory; requires on-demand
     *     paging of the queue
     */
    public TcpFrameBuilder(FrameQueue queue, boolean segmentation, boolean onDemandPaging) {
        this.queue = queue;
        checksumOffload = queue.offloadsChecksums();
        slotCapacityBytes = queue.slots().slotCapacityBytes();
        this.onDemandPaging = onDemandPaging;
        // Payload that cannot be sent in place is copied into slots, and each slot is one part.
        int maxCopiedBytes = onDemandPaging ? Integer.MAX_VALUE
                : Math.min(queue.maxParts(), Segment.MAX_SLICES) * slotCapacityBytes;
        maxTsoBytes = segmentation ? Math.min(TcpConfig.MAX_SEGMENTATION_BYTES,
                Math.min(queue.maxTsoBytes(), maxCopiedBytes)) : 0;
    }

    /** Returns the maximum payload length of a frame that the device segments; 0 if it does not segment. */
    public int maxTsoBytes() {
        return maxTsoBytes;
    }

    /**
     * Returns the maximum payload length for segmentation with the slots that are free now. One slot is used for the
     * headers and the others for copies.
     */
    public int segmentedRoomBytes() {
        if (onDemandPaging) {
            return maxTsoBytes;
        }
        int slots = Math.min(queue.slots().available() - 1, Segment.MAX_SLICES);
        return Math.min(maxTsoBytes, slots * slotCapacityBytes);
    }

    /** Returns the number of segments copied because their payload was unregistered or had too many parts. */
    public long copiedSegments() {
        return copiedSegments;
    }

    /** Returns whether a segment can be written now. */
    public boolean hasRoom() {
        return queue.sendRoom() > 0 && queue.slots().available() > 0;
    }

    /**
     * Writes a segment to the queue and consumes its payload. Call it only if {@link #hasRoom()}.
     *
     * @param destinationMac destination MAC address
     * @throws IllegalReferenceCountException if a buffer of the payload has been released; nothing is written then
     */
    public void write(Segment segment, long sourceMac, long destinationMac) {
        FrameBuf frame = acquireFrame(segment, sourceMac, destinationMac);
        try {
            offer(segment, frame);
        } catch (IllegalReferenceCountException e) {
            frame.release();
            throw e;
        }
    }

    private void offer(Segment segment, FrameBuf frame) {
        if (segment.segmentSizeBytes() > 0) {
            offerTso(segment, frame);
        } else if (segment.payloadLength() >= MIN_IN_PLACE_BYTES) {
            offerLong(segment, frame);
        } else {
            queue.offer(encodeCopied(segment, frame));
        }
    }

    /**
     * Returns a frame without destination MAC address. Occupies a slot during the call.
     *
     * @param segment a segment that does not need segmentation by the device
     * @throws IllegalReferenceCountException if a buffer of the payload has been released
     */
    public byte[] writeUnaddressed(Segment segment, long sourceMac) {
        FrameBuf frame = acquireFrame(segment, sourceMac, 0);
        try {
            encodeCopied(segment, frame);
            byte[] bytes = new byte[frame.readableBytes()];
            frame.readBytes(bytes);
            return bytes;
        } finally {
            frame.release();
        }
    }

    private FrameBuf acquireFrame(Segment segment, long sourceMac, long destinationMac) {
        FrameBuf frame = queue.slots().acquire();
        EthernetHeader.write(frame.memoryAddress(), destinationMac, sourceMac,
                TcpHeaderCodec.isIpv4(segment) ? EtherType.IPV4 : EtherType.IPV6);
        frame.writerIndex(EthernetHeader.LENGTH_BYTES + TcpHeaderCodec.headersLengthBytes(segment));
        return frame;
    }

    /**
     * Writes a frame that the device segments. For each segment the device sets lengths and checksums and increments
     * the IPv4 identification and the sequence number.
     */
    private void offerTso(Segment segment, FrameBuf frame) {
        TcpHeaderCodec.write(segment, ipAddress(frame), 0);
        int segmentBytes = segment.segmentSizeBytes();
        if (canSendInPlace(segment)) {
            int count = retainSlices(segment);
            queue.offerTso(frame, buffers, indices, lengthsBytes, count, segmentBytes);
            segment.detachPayload();
        } else {
            int count = copyPayload(segment, frame);
            queue.offerTso(frame, buffers, indices, lengthsBytes, count, segmentBytes);
            segment.releasePayload();
        }
    }

    private void offerLong(Segment segment, FrameBuf frame) {
        if (!canSendInPlace(segment)) {
            offerCopied(segment, frame);
            return;
        }
        int count = retainSlices(segment);
        TcpHeaderCodec.write(segment, ipAddress(frame), checksumOffload ? 0 : sumOfSlices(count));
        queue.offer(frame, buffers, indices, lengthsBytes, count, checksumOffload);
        segment.detachPayload();
    }

    private void offerCopied(Segment segment, FrameBuf frame) {
        if (checksumOffload) {
            appendPayload(segment, frame);
            TcpHeaderCodec.write(segment, ipAddress(frame), 0);
            segment.releasePayload();
            queue.offer(frame, Unpooled.EMPTY_BUFFER, true);
        } else {
            queue.offer(encodeCopied(segment, frame));
        }
    }

    private boolean canSendInPlace(Segment segment) {
        int count = segment.sliceCount();
        boolean inPlace = count <= queue.maxParts();
        for (int i = 0; i < count && inPlace; i++) {
            ByteBuf buffer = segment.sliceBuffer(i);
            inPlace = onDemandPaging ? buffer.hasMemoryAddress()
                    : queue.isRegistered(buffer, segment.sliceIndex(i), segment.sliceLength(i));
        }
        if (!inPlace) {
            copiedSegments += segment.segmentCount();
        }
        return inPlace;
    }

    /** Retains each part for as long as the device reads it. Returns the number of parts. */
    private int retainSlices(Segment segment) {
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
    private int copyPayload(Segment segment, FrameBuf frame) {
        segment.retainPayload();
        return onDemandPaging ? copyToBuffer(segment, frame) : copyToSlots(segment);
    }

    /** Copies the payload into a new buffer, because it is on the heap or has more buffers than a frame has parts. */
    private int copyToBuffer(Segment segment, FrameBuf frame) {
        ByteBuf copy;
        try {
            copy = ByteBufAllocator.DEFAULT.directBuffer(segment.payloadLength());
        } catch (OutOfMemoryError e) {
            frame.release();
            segment.releasePayload();
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
                if (slot == null || slot.writerIndex() == slotCapacityBytes) {
                    slot = queue.slots().acquire();
                    buffers[count] = slot;
                    indices[count] = 0;
                    lengthsBytes[count++] = 0;
                }
                int bytes = Math.min(end - index, slotCapacityBytes - slot.writerIndex());
                slot.writeBytes(segment.sliceBuffer(i), index, bytes);
                lengthsBytes[count - 1] += bytes;
                index += bytes;
            }
        }
        return count;
    }

    private static FrameBuf encodeCopied(Segment segment, FrameBuf frame) {
        long payload = frame.memoryAddress() + frame.writerIndex();
        int payloadBytes = segment.payloadLength();
        appendPayload(segment, frame);
        long sum = payloadBytes == 0 ? 0 : InternetChecksum.sum(payload, payloadBytes);
        TcpHeaderCodec.write(segment, ipAddress(frame), sum);
        segment.releasePayload();
        return frame;
    }

    private static void appendPayload(Segment segment, FrameBuf frame) {
        for (int i = 0; i < segment.sliceCount(); i++) {
            frame.writeBytes(segment.sliceBuffer(i), segment.sliceIndex(i), segment.sliceLength(i));
        }
    }

    private static long ipAddress(FrameBuf frame) {
        return frame.memoryAddress() + EthernetHeader.LENGTH_BYTES;
    }
}
