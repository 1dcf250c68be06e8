package io.rdmaraw.queue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.rdmaraw.memory.RegisteredRanges;
import io.rdmaraw.verbs.abi.Sge;

/**
 * Describes the parts of a frame as scatter-gather elements, if they lie in registered memory. Counts frames
 * for which that is not possible, by reason.
 */
final class FrameGatherer {
    private final RegisteredRanges ranges;
    private final QueueCounters counters;

    FrameGatherer(RegisteredRanges ranges, QueueCounters counters) {
        this.ranges = ranges;
        this.counters = counters;
    }

    /**
     * Describes a frame in place.
     *
     * @return the number of elements, or 0 if the frame must be copied
     */
    int gather(ByteBuf frame, long sge, int lengthBytes, int limit) {
        if (limit < 1) {
            counters.coalescedFrames++;
            return 0;
        }
        if (frame.hasMemoryAddress()) {
            long address = frame.memoryAddress() + frame.readerIndex();
            long lkey = ranges.lkeyOf(address, lengthBytes);
            if (lkey != RegisteredRanges.UNREGISTERED) {
                Sge.write(sge, address, lengthBytes, (int) lkey);
                return 1;
            }
        } else if (frame instanceof CompositeByteBuf composite) {
            int count = gatherComponents(composite, sge, lengthBytes, limit);
            if (count != 0) {
                return count;
            }
            counters.coalescedFrames++;
            return 0;
        }
        counters.copiedInFrames++;
        return 0;
    }

    private int gatherComponents(CompositeByteBuf frame, long sge, int lengthBytes, int limit) {
        int index = frame.readerIndex();
        int end = index + lengthBytes;
        int count = 0;
        for (int c = frame.toComponentIndex(index); index < end; c++) {
            ByteBuf component = frame.internalComponent(c);
            int componentStart = frame.toByteIndex(c);
            int componentEnd = componentStart + component.capacity();
            int length = Math.min(end, componentEnd) - index;
            if (length == 0) {
                continue;
            }
            if (count == limit || !component.hasMemoryAddress()) {
                return 0;
            }
            long address = component.memoryAddress() + index - componentStart;
            long lkey = ranges.lkeyOf(address, length);
            if (lkey == RegisteredRanges.UNREGISTERED) {
                return 0;
            }
            Sge.write(sge + (long) count++ * Sge.SIZE_BYTES, address, length, (int) lkey);
            index += length;
        }
        return count;
    }
}
