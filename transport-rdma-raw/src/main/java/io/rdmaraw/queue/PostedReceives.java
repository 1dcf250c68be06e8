package io.rdmaraw.queue;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.ReceiveWr;
import io.rdmaraw.verbs.Sge;

/**
 * The free slots that are posted to one receive queue, be it a queue pair's or a work queue. Several share a slot pool
 * and a completion queue; the identifiers of their work requests tell them apart.
 */
final class PostedReceives {
    /** The device's queue. */
    interface Target {
        /** Posts a linked list of {@link ReceiveWr}; returns 0 or the errno. */
        int postReceive(long firstWrAddress, long badWrPointerAddress);
    }

    /** Slots are posted in batches of at least this many, so that their doorbell is shared. */
    private static final int REFILL_BATCH = 32;
    private static final int MAX_BATCH = FrameQueue.BURST_FRAMES;
    private static final int STREAM_SHIFT = 32;
    private static final int EPOCH_SHIFT = 1;
    private static final int MAX_STREAM = 0x7fffffff;

    private final Target target;
    private final SlotPool slots;
    private final QueueCounters counters;
    private final int depth;
    private final long workRequests;
    private final long scatterList;
    private final long badWorkRequest;
    /** Which slots are posted, so that a reset queue's slots can be taken back. */
    private final boolean[] postedSlots;
    private int posted;
    private boolean failed;
    /**
     * The upper half of each identifier: which queue, and how often it was reset, so that completions that a reset left
     * behind are told from those of now.
     */
    private long stream;

    /**
     * @param number 0 or 1, another for each of a frame queue's receive queues
     * @param depth the most that are posted at a time
     */
    PostedReceives(int number, Target target, SlotPool slots, QueueCounters counters, int depth, NativeArrays arrays) {
        stream = number;
        this.target = target;
        this.slots = slots;
        this.counters = counters;
        this.depth = depth;
        postedSlots = new boolean[slots.slotCount()];
        workRequests = arrays.allocate(MAX_BATCH * ReceiveWr.SIZE_BYTES);
        scatterList = arrays.allocate(MAX_BATCH * Sge.SIZE_BYTES);
        badWorkRequest = arrays.allocate(Long.BYTES);
        FrameBuf any = slots.slot(0);
        for (int i = 0; i < MAX_BATCH; i++) {
            long wr = workRequest(i);
            long sge = scatterList + (long) i * Sge.SIZE_BYTES;
            ReceiveWr.sgList(wr, sge);
            ReceiveWr.numSge(wr, 1);
            ReceiveWr.next(wr, nextOf(i));
            Sge.length(sge, any.slotBytes());
            Sge.lkey(sge, any.lkey());
        }
    }

    /** Returns the native memory that one of these takes of its {@link NativeArrays}. */
    static long nativeBytes() {
        // With room for the rounding to cache lines.
        return MAX_BATCH * (ReceiveWr.SIZE_BYTES + Sge.SIZE_BYTES) + 256L;
    }

    private long workRequest(int index) {
        return workRequests + (long) index * ReceiveWr.SIZE_BYTES;
    }

    private long nextOf(int index) {
        return index + 1 == MAX_BATCH ? 0 : workRequest(index + 1);
    }

    boolean failed() {
        return failed;
    }

    /** Tells whether a completion is one of these receives. */
    boolean isOurs(long wrId) {
        return wrId >>> STREAM_SHIFT == stream;
    }

    /** A receive of ours has completed; returns its slot. */
    int complete(long wrId) {
        int slotIndex = (int) wrId;
        postedSlots[slotIndex] = false;
        posted--;
        return slotIndex;
    }

    /** A completion carries an error. */
    void fail(int status, int slotIndex) {
        failed = true;
        if (status != VerbsFrameQueue.IBV_WC_WR_FLUSH_ERR) {
            counters.receiveErrors++;
        }
        slots.returnClosed(slotIndex);
    }

    /** Posts free slots if that is worth a doorbell. */
    void refillIfLow() {
        if (depth - posted >= REFILL_BATCH) {
            refill();
        }
    }

    /** Posts free slots until the receive queue is full or no slot is left. */
    void refill() {
        while (posted < depth && !failed) {
            int count = fillBatch(Math.min(depth - posted, MAX_BATCH));
            if (count == 0) {
                counters.receiveQueueLow++;
                return;
            }
            long last = workRequest(count - 1);
            ReceiveWr.next(last, 0);
            int errno = target.postReceive(workRequests, badWorkRequest);
            ReceiveWr.next(last, nextOf(count - 1));
            if (errno != 0) {
                takeBackRefused(count);
                return;
            }
        }
    }

    private int fillBatch(int limit) {
        int count = 0;
        while (count < limit) {
            FrameBuf slot = slots.takeClosed();
            if (slot == null) {
                break;
            }
            ReceiveWr.wrId(workRequest(count), stream << STREAM_SHIFT | slot.slotIndex());
            Sge.addr(scatterList + (long) count * Sge.SIZE_BYTES, slot.slotAddress());
            postedSlots[slot.slotIndex()] = true;
            count++;
        }
        posted += count;
        return count;
    }

    private void takeBackRefused(int count) {
        counters.receiveErrors++;
        failed = true;
        int bad = (int) ((NativeMemory.getLong(badWorkRequest) - workRequests) / ReceiveWr.SIZE_BYTES);
        for (int i = bad; i < count; i++) {
            takeBack((int) ReceiveWr.wrId(workRequest(i)));
        }
    }

    private void takeBack(int slotIndex) {
        postedSlots[slotIndex] = false;
        posted--;
        slots.returnClosed(slotIndex);
    }

    /** Takes all posted slots back: the queue was reset or destroyed, so the device writes to none of them. */
    void abandon() {
        for (int i = 0; i < postedSlots.length; i++) {
            if (postedSlots[i]) {
                takeBack(i);
            }
        }
        stream = stream + (1L << EPOCH_SHIFT) & MAX_STREAM;
        failed = false;
    }
}
