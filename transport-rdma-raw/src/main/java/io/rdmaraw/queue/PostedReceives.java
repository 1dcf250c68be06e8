package io.rdmaraw.queue;

import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.WcStatus;

/**
 * The free slots that are posted to one receive queue, be it a queue pair's or a work queue. How the device is told of
 * them is the subclass's concern.
 */
abstract class PostedReceives {
    /** Slots are posted in batches of at least this many, so that their doorbell is shared. */
    private static final int REFILL_BATCH = 32;
    static final int MAX_BATCH = FrameQueue.BURST_FRAMES;

    private final SlotPool slots;
    private final QueueCounters counters;
    private final int depth;
    private int posted;
    private boolean failed;

    /** @param depth the most that are posted at a time */
    PostedReceives(SlotPool slots, QueueCounters counters, int depth) {
        this.slots = slots;
        this.counters = counters;
        this.depth = depth;
    }

    /** Describes a slot of a batch. Hot. */
    abstract void describe(int index, FrameBuf slot);

    /** Hands the slots described to the device; returns how many it took. */
    abstract int postDescribed(int count);

    /** Calls {@link #takeBack} for every slot that is posted; what completes from now on is of later ones. */
    abstract void takeBackAll();

    final boolean failed() {
        return failed;
    }

    /** A receive has completed, well or not. */
    final void completed() {
        posted--;
    }

    /** A completion carries an error. */
    final void fail(int status, int slotIndex) {
        failed = true;
        if (status != WcStatus.WR_FLUSH_ERR) {
            counters.receiveErrors++;
        }
        slots.returnClosed(slotIndex);
    }

    /** Posts free slots if that is worth a doorbell. */
    final void refillIfLow() {
        if (depth - posted >= REFILL_BATCH) {
            refill();
        }
    }

    /** Posts free slots until the receive queue is full or no slot is left. */
    final void refill() {
        while (posted < depth && !failed) {
            int count = describeBatch(Math.min(depth - posted, MAX_BATCH));
            if (count == 0) {
                counters.receiveQueueLow++;
                return;
            }
            if (postDescribed(count) < count) {
                counters.receiveErrors++;
                failed = true;
            }
        }
    }

    private int describeBatch(int limit) {
        int count = 0;
        while (count < limit) {
            FrameBuf slot = slots.takeClosed();
            if (slot == null) {
                break;
            }
            describe(count++, slot);
        }
        posted += count;
        return count;
    }

    /** The device has a slot no more. */
    final void takeBack(int slotIndex) {
        posted--;
        slots.returnClosed(slotIndex);
    }

    /** Takes all posted slots back: the queue was reset or destroyed, so the device writes to none of them. */
    final void abandon() {
        takeBackAll();
        failed = false;
    }
}
