package io.rdmaraw.queue;

import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;

/** Receives of one slot each, for one frame; or of a chunk each, for one frame beyond the MTU. */
public abstract class SlotReceives extends ReceiveRequests {
    /** Slots are posted in batches of at least this many, so that their doorbell is shared. */
    private static final int REFILL_BATCH = 32;
    private static final int LARGE_REFILL_BATCH = 4;
    static final int MAX_BATCH = FrameQueue.BURST_FRAMES;
    /**
     * Free slots that are not taken, as sending needs some: a queue that is opened while handlers keep frames would
     * take the last, and when what they keep is to be sent, it would stay there.
     */
    private static final int SENDING_SLOTS = 16;

    private final SlotPool slots;
    /** Whether they are of chunks, which nothing else takes. */
    private final boolean large;
    /**
     * What a queue that failed has given back. It stays the queue's until that is filled again: between a failure and
     * its recovery handlers that keep frames would take it all. Then nothing could be received, so nothing they wait
     * for would come.
     */
    private final int[] kept;
    private int keptCount;

    /** @param depth the most that are posted at a time */
    protected SlotReceives(SlotPool slots, QueueCounters counters, int depth) {
        this(slots, counters, depth, false);
    }

    /** @param large whether they are of the pool's chunks */
    SlotReceives(SlotPool slots, QueueCounters counters, int depth, boolean large) {
        super(counters, depth, large ? LARGE_REFILL_BATCH : REFILL_BATCH);
        this.slots = slots;
        this.large = large;
        kept = new int[depth];
    }

    /** Describes a slot of a batch. Hot. */
    protected abstract void describe(int index, FrameBuf slot);

    /** A completion carries an error; see {@link #fail(int)}. */
    public final void fail(int status, int slotIndex) {
        fail(status);
        if (failed()) {
            kept[keptCount++] = slotIndex;
        } else {
            giveBack(slotIndex);
        }
    }

    private void giveBack(int slotIndex) {
        if (large) {
            slots.returnStrides(slotIndex, 1);
        } else {
            slots.returnClosed(slotIndex);
        }
    }

    private int free() {
        return large ? slots.availableChunks() : Math.max(0, slots.available() - SENDING_SLOTS);
    }

    private FrameBuf take() {
        return large ? slots.slot(slots.takeChunk()) : slots.takeClosed();
    }

    @Override
    protected final int describeBatch(int room) {
        int count = Math.min(keptCount + free(), Math.min(room, MAX_BATCH));
        for (int i = 0; i < count; i++) {
            describe(i, keptCount > 0 ? slots.slot(kept[--keptCount]) : take());
        }
        return count;
    }

    /** The device has a slot no more. */
    protected final void takeBack(int slotIndex) {
        completed();
        kept[keptCount++] = slotIndex;
    }

    /** Without chunks the device cuts frames beyond the MTU, and nothing is short. */
    @Override
    void noteNoMemory() {
        if (!large) {
            super.noteNoMemory();
        }
    }

    @Override
    int unbacked() {
        return super.unbacked() - keptCount;
    }

    @Override
    void giveBack() {
        while (keptCount > 0) {
            giveBack(kept[--keptCount]);
        }
    }
}
