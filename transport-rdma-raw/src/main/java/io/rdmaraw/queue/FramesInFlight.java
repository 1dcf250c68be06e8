package io.rdmaraw.queue;

import io.netty.buffer.ByteBuf;
import io.netty.util.IllegalReferenceCountException;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;

import java.util.Arrays;

/** The frames that a device may still read, each in the place that its sequence number stands for. */
final class FramesInFlight {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(FramesInFlight.class);

    private final SlotPool slots;
    private final QueueCounters counters;
    /** The frames that lie in slots of this queue, by number; no number where {@link #foreignFrames} has one. */
    private final int[] slotIndices;
    private final ByteBuf[] foreignFrames;
    /** What frames consist of beside what the two above hold, {@link #maxParts} places for each; null from the end. */
    private final ByteBuf[] parts;
    private final int maxParts;

    /** @param places a power of two */
    FramesInFlight(SlotPool slots, QueueCounters counters, int places, int maxParts) {
        this.slots = slots;
        this.counters = counters;
        this.maxParts = maxParts;
        slotIndices = new int[places];
        foreignFrames = new ByteBuf[places];
        parts = new ByteBuf[places * maxParts];
        Arrays.fill(slotIndices, SlotPool.NONE);
    }

    int places() {
        return slotIndices.length;
    }

    private int place(long sequence) {
        return (int) sequence & slotIndices.length - 1;
    }

    /** Hot. */
    void holdSlot(long sequence, int slotIndex) {
        int[] indices = slotIndices;
        indices[(int) sequence & indices.length - 1] = slotIndex;
    }

    /** What it consists of beside has been held by {@link #holdPart}. */
    void hold(long sequence, ByteBuf frame) {
        int place = place(sequence);
        // What has parts goes the way on which they are released too.
        if (!hasParts(place) && frame instanceof FrameBuf slot && slots.owns(slot)) {
            slotIndices[place] = slot.slotIndex();
        } else {
            foreignFrames[place] = frame;
        }
    }

    void holdPart(long sequence, int index, ByteBuf part) {
        parts[place(sequence) * maxParts + index] = part;
    }

    private boolean hasParts(int place) {
        return parts[place * maxParts] != null;
    }

    boolean hasParts(long sequence) {
        return hasParts(place(sequence));
    }

    /** Returns the length of a frame without its parts. */
    int lengthBytes(long sequence) {
        ByteBuf frame = held(place(sequence));
        return frame.readableBytes() + (frame instanceof FrameBuf slot ? slot.attachedBytes() : 0);
    }

    private ByteBuf held(int place) {
        int slotIndex = slotIndices[place];
        return slotIndex == SlotPool.NONE ? foreignFrames[place] : slots.slot(slotIndex);
    }

    /** Releases frames; returns how many there were. Hot. */
    int release(long from, long end) {
        int released = 0;
        long sequence = from;
        while (sequence < end) {
            int place = place(sequence);
            int run = slots.releaseRun(slotIndices, place,
                    (int) Math.min(place + end - sequence, slotIndices.length));
            released += run;
            sequence += run;
            if (sequence < end) {
                released += release(sequence) ? 1 : 0;
                sequence++;
            }
        }
        return released;
    }

    /** Releases what a place holds; returns whether it held a frame. */
    boolean release(long sequence) {
        int place = place(sequence);
        ByteBuf frame = held(place);
        if (frame == null) {
            return false;
        }
        if (slotIndices[place] == SlotPool.NONE) {
            foreignFrames[place] = null;
        } else {
            slotIndices[place] = SlotPool.NONE;
        }
        releaseSent(frame);
        for (int i = place * maxParts; parts[i] != null; i++) {
            ByteBuf part = parts[i];
            parts[i] = null;
            releaseSent(part);
        }
        return true;
    }

    /** Releases the queue's reference, unless a handler without a reference has done so. */
    private void releaseSent(ByteBuf frame) {
        try {
            frame.release();
        } catch (IllegalReferenceCountException e) {
            counters.releasedEarlyFrames++;
            LOGGER.debug("a handler released a frame while it was sent", e);
        }
    }
}
