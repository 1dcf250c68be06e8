package io.rdmaraw.queue;

import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;

/** Receives of one slot each, for one frame. */
public abstract class SlotReceives extends ReceiveRequests {
    /** Slots are posted in batches of at least this many, so that their doorbell is shared. */
    private static final int REFILL_BATCH = 32;
    static final int MAX_BATCH = FrameQueue.BURST_FRAMES;
    /**
     * Free slots that are not taken, as sending needs some: a queue that is opened while handlers keep frames would
     * take the last, and when what they keep is to be sent, it would stay there.
     */
    private static final int SENDING_SLOTS = 16;

    private final SlotPool slots;
    /**
     * What a queue that failed has given back. It stays the queue's until that is filled again: between a failure and
     * its recovery handlers that keep frames would take it all. Then nothing could be received, so nothing they wait
     * for would come.
     */
    private final int[] kept;
    private int keptCount;

    /** @param depth the most that are posted at a time */
    protected SlotReceives(SlotPool slots, QueueCounters counters, int depth) {
        super(counters, depth, REFILL_BATCH);
        this.slots = slots;
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
            slots.returnClosed(slotIndex);
        }
    }

    @Override
    protected final int describeBatch(int room) {
        int free = keptCount + Math.max(0, slots.available() - SENDING_SLOTS);
        int count = Math.min(free, Math.min(room, MAX_BATCH));
        for (int i = 0; i < count; i++) {
            describe(i, keptCount > 0 ? slots.slot(kept[--keptCount]) : slots.takeClosed());
        }
        return count;
    }

    /** The device has a slot no more. */
    protected final void takeBack(int slotIndex) {
        completed();
        kept[keptCount++] = slotIndex;
    }

    @Override
    int unbacked() {
        return super.unbacked() - keptCount;
    }

    @Override
    void giveBack() {
        while (keptCount > 0) {
            slots.returnClosed(kept[--keptCount]);
        }
    }
}
