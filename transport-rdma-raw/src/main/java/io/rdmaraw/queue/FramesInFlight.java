package io.rdmaraw.queue;

import io.netty.buffer.ByteBuf;
import io.netty.util.IllegalReferenceCountException;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;

import java.util.Arrays;

/**
 * The frames of the current burst and those that the device may still read. A circular buffer, indexed by the sequence
 * number of the frame.
 */
final class FramesInFlight {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(FramesInFlight.class);

    private final SlotPool slots;
    private final QueueCounters counters;
    /**
     * Slot indices of frames in slots of this queue. {@link SlotPool#NONE} if the place is empty or
     * {@link #externalFrames} holds the frame: a frame outside the slots, or one with further buffers.
     */
    private final int[] slotIndices;
    private final ByteBuf[] externalFrames;
    /** Further buffers of a frame, {@link #maxParts} elements per frame, terminated by null. */
    private final ByteBuf[] parts;
    private final int maxParts;

    /**
     * @param capacity capacity in frames, a power of two
     */
    FramesInFlight(SlotPool slots, QueueCounters counters, int capacity, int maxParts) {
        this.slots = slots;
        this.counters = counters;
        this.maxParts = maxParts;
        slotIndices = new int[capacity];
        externalFrames = new ByteBuf[capacity];
        parts = new ByteBuf[capacity * maxParts];
        Arrays.fill(slotIndices, SlotPool.NONE);
    }

    int capacity() {
        return slotIndices.length;
    }

    private int indexOf(long sequence) {
        return (int) sequence & slotIndices.length - 1;
    }

    /** Stores a frame that is a slot of this queue. Hot path. */
    void holdSlot(long sequence, int slotIndex) {
        int[] indices = slotIndices;
        indices[(int) sequence & indices.length - 1] = slotIndex;
    }

    /** Stores a frame. Its further buffers must have been stored with {@link #holdPart} before. */
    void hold(long sequence, ByteBuf frame) {
        int index = indexOf(sequence);
        // Frames with further buffers must take the slower path of release, which also releases these buffers.
        if (!hasParts(index) && frame instanceof FrameBuf slot && slots.owns(slot)) {
            slotIndices[index] = slot.slotIndex();
        } else {
            externalFrames[index] = frame;
        }
    }

    void holdPart(long sequence, int index, ByteBuf part) {
        parts[indexOf(sequence) * maxParts + index] = part;
    }

    private boolean hasParts(int index) {
        return parts[index * maxParts] != null;
    }

    boolean hasParts(long sequence) {
        return hasParts(indexOf(sequence));
    }

    /** Returns the length of a frame without its further buffers. */
    int lengthBytes(long sequence) {
        ByteBuf frame = frameAt(indexOf(sequence));
        return frame.readableBytes() + (frame instanceof FrameBuf slot ? slot.attachedBytes() : 0);
    }

    private ByteBuf frameAt(int index) {
        int slotIndex = slotIndices[index];
        return slotIndex == SlotPool.NONE ? externalFrames[index] : slots.slot(slotIndex);
    }

    /** Releases the frames from {@code from} to {@code end} (exclusive) and returns their number. Hot path. */
    int release(long from, long end) {
        int released = 0;
        long sequence = from;
        while (sequence < end) {
            int index = indexOf(sequence);
            int runLength = slots.releaseRun(slotIndices, index,
                    (int) Math.min(index + end - sequence, slotIndices.length));
            released += runLength;
            sequence += runLength;
            if (sequence < end) {
                released += release(sequence) ? 1 : 0;
                sequence++;
            }
        }
        return released;
    }

    /** Releases the frame with a sequence number and returns whether there was one. */
    boolean release(long sequence) {
        int index = indexOf(sequence);
        ByteBuf frame = frameAt(index);
        if (frame == null) {
            return false;
        }
        if (slotIndices[index] == SlotPool.NONE) {
            externalFrames[index] = null;
        } else {
            slotIndices[index] = SlotPool.NONE;
        }
        releaseSent(frame);
        for (int i = index * maxParts; parts[i] != null; i++) {
            ByteBuf part = parts[i];
            parts[i] = null;
            releaseSent(part);
        }
        return true;
    }

    /** Releases the queue's reference. A handler may wrongly have released a reference that it did not own. */
    private void releaseSent(ByteBuf frame) {
        try {
            frame.release();
        } catch (IllegalReferenceCountException e) {
            counters.releasedEarlyFrames++;
            LOGGER.debug("a handler released a frame while it was sent", e);
        }
    }
}
