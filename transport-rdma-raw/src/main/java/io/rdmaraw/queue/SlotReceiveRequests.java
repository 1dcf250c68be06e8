package io.rdmaraw.queue;

import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;

/** Receive requests of one slot each for a frame, or of one chunk each for a GSO frame. */
public abstract class SlotReceiveRequests extends ReceiveRequests {
    /** Minimum number of slots to post at once, so that they share a doorbell. */
    private static final int REFILL_BATCH = 32;
    private static final int GSO_REFILL_BATCH = 4;
    static final int MAX_BATCH = FrameQueue.MAX_BURST_FRAMES;
    /**
     * Number of free slots left for sending. Without them a queue that is opened while handlers hold frames
     * would take the last slots, and the handlers' frames could not be sent.
     */
    private static final int MIN_SENDING_SLOTS = 16;

    private final SlotPool slots;
    /** Whether the requests use chunks, which have no other use. */
    private final boolean isGso;
    /**
     * Slots taken back from a failed queue. They are reserved until the queue is refilled: otherwise handlers
     * could take them between failure and recovery, and nothing could be received any more.
     */
    private final int[] reservedSlots;
    private int reservedCount;

    /**
     * @param depth maximum number of posted requests
     */
    protected SlotReceiveRequests(SlotPool slots, QueueCounters counters, int depth) {
        this(slots, counters, depth, false);
    }

    /**
     * @param isGso whether the requests use the pool's chunks
     */
    SlotReceiveRequests(SlotPool slots, QueueCounters counters, int depth, boolean isGso) {
        super(counters, depth, isGso ? GSO_REFILL_BATCH : REFILL_BATCH);
        this.slots = slots;
        this.isGso = isGso;
        reservedSlots = new int[depth];
    }

    /** Describes a request of the batch. Hot path. */
    protected abstract void describe(int index, FrameBuf slot);

    /** Handles a completion with an error; see {@link #handleError(int)}. */
    public final void handleError(int status, int slotIndex) {
        handleError(status);
        if (failed()) {
            reservedSlots[reservedCount++] = slotIndex;
        } else {
            releaseSlot(slotIndex);
        }
    }

    private void releaseSlot(int slotIndex) {
        if (isGso) {
            slots.releaseStrides(slotIndex, 1);
        } else {
            slots.releaseUnopened(slotIndex);
        }
    }

    private int availableForReceiving() {
        return isGso ? slots.availableChunks() : Math.max(0, slots.available() - MIN_SENDING_SLOTS);
    }

    private FrameBuf acquire() {
        return isGso ? slots.slot(slots.acquireChunk()) : slots.acquireUnopened();
    }

    @Override
    protected final int describeBatch(int room) {
        int count = Math.min(reservedCount + availableForReceiving(), Math.min(room, MAX_BATCH));
        for (int i = 0; i < count; i++) {
            describe(i, reservedCount > 0 ? slots.slot(reservedSlots[--reservedCount]) : acquire());
        }
        return count;
    }

    /** Takes back a slot that the device does not use any more. */
    protected final void reclaim(int slotIndex) {
        recordCompletion();
        reservedSlots[reservedCount++] = slotIndex;
    }

    /** If chunks are short, the device segments the packets. This is not a shortage of memory. */
    @Override
    void countNoMemory() {
        if (!isGso) {
            super.countNoMemory();
        }
    }

    @Override
    int requestsWithoutMemory() {
        return super.requestsWithoutMemory() - reservedCount;
    }

    @Override
    void releaseReserved() {
        while (reservedCount > 0) {
            releaseSlot(reservedSlots[--reservedCount]);
        }
    }
}
