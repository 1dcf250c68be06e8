package io.rdmaraw.queue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.ReceiveWr;
import io.rdmaraw.verbs.Sge;
import io.rdmaraw.verbs.Wc;

/**
 * The receiving half of a {@link VerbsFrameQueue}: keeps the receive queue filled with free slots, and opens the slots
 * that the device has written to.
 *
 * <p>A handler that keeps frames takes slots away. When few are left, frames are copied out to other memory and their
 * slots posted again: the receive queue neither runs dry nor stalls the loop, and the copies are counted.
 */
final class ReceiveRing {
    /** Slots are posted in batches of at least this many, so that their doorbell is shared. */
    private static final int REFILL_BATCH = 32;
    private static final int MAX_BATCH = FrameQueue.BURST_FRAMES;
    private static final int EPOCH_SHIFT = 32;

    private final QueuePair queuePair;
    private final CompletionQueue completions;
    private final SlotPool slots;
    private final QueueCounters counters;
    private final int depth;
    private final int copyOutBelow;
    private final long workRequests;
    private final long scatterList;
    private final long badWorkRequest;
    private final long workCompletions;
    /** Which slots are posted, so that a reset queue's slots can be taken back. */
    private final boolean[] postedSlots;
    private int posted;
    private boolean failed;
    /** Part of each identifier: completions that a reset left in the queue are told from those of now. */
    private long epoch;

    ReceiveRing(QueuePair queuePair, CompletionQueue completions, SlotPool slots, QueueCounters counters, int depth,
                int copyOutBelow, NativeArrays arrays) {
        this.queuePair = queuePair;
        this.completions = completions;
        this.slots = slots;
        this.counters = counters;
        this.depth = depth;
        this.copyOutBelow = copyOutBelow;
        postedSlots = new boolean[slots.slotCount()];
        workRequests = arrays.allocate(MAX_BATCH * ReceiveWr.SIZE_BYTES);
        scatterList = arrays.allocate(MAX_BATCH * Sge.SIZE_BYTES);
        badWorkRequest = arrays.allocate(Long.BYTES);
        workCompletions = arrays.allocate(FrameQueue.BURST_FRAMES * Wc.SIZE_BYTES);
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

    private long workRequest(int index) {
        return workRequests + (long) index * ReceiveWr.SIZE_BYTES;
    }

    private long nextOf(int index) {
        return index + 1 == MAX_BATCH ? 0 : workRequest(index + 1);
    }

    boolean failed() {
        return failed;
    }

    int receive(ReceiveBurst burst) {
        burst.begin(slots);
        int polled = completions.poll(FrameQueue.BURST_FRAMES, workCompletions);
        counters.receivePolls++;
        if (polled == 0) {
            counters.emptyReceivePolls++;
        } else {
            boolean copyOut = slots.available() < copyOutBelow;
            for (int i = 0; i < polled; i++) {
                complete(workCompletions + (long) i * Wc.SIZE_BYTES, burst, copyOut);
            }
            burst.fetchHeaders();
        }
        if (depth - posted >= REFILL_BATCH) {
            refill();
        }
        return burst.size();
    }

    private void complete(long wc, ReceiveBurst burst, boolean copyOut) {
        long wrId = Wc.wrId(wc);
        if (wrId >>> EPOCH_SHIFT != epoch) {
            return;
        }
        int slotIndex = (int) wrId;
        postedSlots[slotIndex] = false;
        posted--;
        int status = Wc.status(wc);
        if (status != VerbsFrameQueue.IBV_WC_SUCCESS) {
            fail(status, slotIndex);
            return;
        }
        int lengthBytes = Wc.byteLen(wc);
        boolean checksumVerified = (Wc.wcFlags(wc) & Wc.FLAG_IP_CSUM_OK) != 0;
        if (copyOut) {
            burst.addCopy(copyOut(slotIndex, lengthBytes), Wc.qpNum(wc), checksumVerified);
        } else {
            burst.addSlot(slotIndex, lengthBytes, Wc.qpNum(wc), checksumVerified);
        }
        counters.receivedFrames++;
        counters.receivedBytes += lengthBytes;
    }

    private void fail(int status, int slotIndex) {
        failed = true;
        if (status != VerbsFrameQueue.IBV_WC_WR_FLUSH_ERR) {
            counters.receiveErrors++;
        }
        slots.returnClosed(slotIndex);
    }

    private ByteBuf copyOut(int slotIndex, int lengthBytes) {
        ByteBuf copy = ByteBufAllocator.DEFAULT.directBuffer(lengthBytes);
        FrameBuf slot = slots.openReceived(slotIndex, lengthBytes);
        copy.writeBytes(slot);
        slot.release();
        counters.copiedOutFrames++;
        return copy;
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
            int errno = queuePair.postReceive(workRequests, badWorkRequest);
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
            ReceiveWr.wrId(workRequest(count), epoch << EPOCH_SHIFT | slot.slotIndex());
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

    /** Takes all posted slots back: the queue pair was reset or destroyed, so the device writes to none of them. */
    void abandon() {
        for (int i = 0; i < postedSlots.length; i++) {
            if (postedSlots[i]) {
                takeBack(i);
            }
        }
        epoch = epoch + 1 & 0x7fffffff;
        failed = false;
    }
}
