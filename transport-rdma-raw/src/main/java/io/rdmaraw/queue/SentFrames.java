package io.rdmaraw.queue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.rdmaraw.capture.FrameTap;
import io.rdmaraw.memory.FrameBuf;

import java.util.Arrays;

/** Passes the frames of a {@link SendRing} to a capture. Exists only while frames are captured. */
final class SentFrames {
    private final FrameTap tap;
    private final int minFrameBytes;
    private final long paddingAddress;
    /** Index of the first frame of the burst to capture. The parts of earlier frames were not stored here. */
    private int from;
    /** The parts of the burst, in the order of its frames. */
    private int[] frameIndices = new int[64];
    private long[] addresses = new long[64];
    private int[] lengthsBytes = new int[64];
    private int partCount;

    /**
     * @param offered        number of frames that were offered before the capture began
     * @param paddingAddress address of {@code minFrameBytes} bytes of padding
     */
    SentFrames(FrameTap tap, int offered, int minFrameBytes, long paddingAddress) {
        this.tap = tap;
        from = offered;
        this.minFrameBytes = minFrameBytes;
        this.paddingAddress = paddingAddress;
    }

    /** Stores a part of a frame, since the ring stores only its buffer. */
    void holdPart(int frameIndex, long address, int lengthBytes) {
        if (partCount == addresses.length) {
            frameIndices = Arrays.copyOf(frameIndices, 2 * partCount);
            addresses = Arrays.copyOf(addresses, 2 * partCount);
            lengthsBytes = Arrays.copyOf(lengthsBytes, 2 * partCount);
        }
        frameIndices[partCount] = frameIndex;
        addresses[partCount] = address;
        lengthsBytes[partCount++] = lengthBytes;
    }

    /** Captures the frames of a burst before it is posted. */
    void capture(FramesInFlight frames, long firstSequence, int count) {
        tap.begin();
        int part = 0;
        for (int i = from; i < count; i++) {
            int bytes = add(frames.frame(firstSequence + i));
            while (part < partCount && frameIndices[part] == i) {
                tap.add(addresses[part], lengthsBytes[part]);
                bytes += lengthsBytes[part++];
            }
            if (bytes < minFrameBytes) {
                tap.add(paddingAddress, minFrameBytes - bytes);
            }
            tap.endFrame(true);
        }
        tap.end();
        from = 0;
        partCount = 0;
    }

    /** Adds the readable bytes of a buffer, and returns their number. */
    private int add(ByteBuf buffer) {
        int bytes = buffer.readableBytes();
        if (buffer instanceof CompositeByteBuf composite) {
            addComponents(composite);
        } else if (bytes > 0) {
            tap.add(buffer.memoryAddress() + buffer.readerIndex(), bytes);
        }
        ByteBuf attached = buffer instanceof FrameBuf slot ? slot.attached() : null;
        return attached == null ? bytes : bytes + add(attached);
    }

    private void addComponents(CompositeByteBuf composite) {
        int index = composite.readerIndex();
        int end = composite.writerIndex();
        while (index < end) {
            int component = composite.toComponentIndex(index);
            ByteBuf part = composite.internalComponent(component);
            int start = composite.toByteIndex(component);
            int length = Math.min(end, start + part.capacity()) - index;
            tap.add(part.memoryAddress() + index - start, length);
            index += length;
        }
    }
}
