package io.rdmaraw.queue;

import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;

/** Receives of one slot each, for one frame. */
abstract class SlotReceives extends PostedReceives {
    /** Slots are posted in batches of at least this many, so that their doorbell is shared. */
    private static final int REFILL_BATCH = 32;
    static final int MAX_BATCH = FrameQueue.BURST_FRAMES;

    private final SlotPool slots;

    /** @param depth the most that are posted at a time */
    SlotReceives(SlotPool slots, QueueCounters counters, int depth) {
        super(counters, depth, REFILL_BATCH);
        this.slots = slots;
    }

    /** Describes a slot of a batch. Hot. */
    abstract void describe(int index, FrameBuf slot);

    /** A completion carries an error. */
    final void fail(int status, int slotIndex) {
        fail(status);
        slots.returnClosed(slotIndex);
    }

    @Override
    final int describeBatch(int room) {
        int limit = Math.min(room, MAX_BATCH);
        int count = 0;
        while (count < limit) {
            FrameBuf slot = slots.takeClosed();
            if (slot == null) {
                break;
            }
            describe(count++, slot);
        }
        return count;
    }

    /** The device has a slot no more. */
    final void takeBack(int slotIndex) {
        completed();
        slots.returnClosed(slotIndex);
    }
}
