package io.rdmaraw.queue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.Wc;
import io.rdmaraw.verbs.WorkQueue;

/**
 * The receiving half of a {@link VerbsFrameQueue}: keeps the receive queues filled with free slots, and opens the slots
 * that the device has written to.
 *
 * <p>A handler that keeps frames takes slots away. When few are left, frames are copied out to other memory and their
 * slots posted again: the receive queue neither runs dry nor stalls the loop, and the copies are counted.
 */
final class ReceiveRing {
    private final CompletionQueue completions;
    private final SlotPool slots;
    private final QueueCounters counters;
    private final int copyOutBelow;
    private final NativeArrays arrays;
    private final long workCompletions;
    private final PostedReceives own;
    /** What rules that several loops share lead to; null as long as there is none. */
    private PostedReceives shared;

    ReceiveRing(QueuePair queuePair, CompletionQueue completions, SlotPool slots, QueueCounters counters, int depth,
                int copyOutBelow, NativeArrays arrays) {
        this.completions = completions;
        this.slots = slots;
        this.counters = counters;
        this.copyOutBelow = copyOutBelow;
        this.arrays = arrays;
        own = new PostedReceives(0, queuePair::postReceive, slots, counters, depth, arrays);
        workCompletions = arrays.allocate(FrameQueue.BURST_FRAMES * Wc.SIZE_BYTES);
    }

    /** Returns the receives of the queue pair itself. */
    PostedReceives own() {
        return own;
    }

    /** Returns the receives of the work queue, or null when there is none. */
    PostedReceives sharedOrNull() {
        return shared;
    }

    /** Receives from this work queue too, which completes where the queue pair does; fills it. */
    void addShared(WorkQueue workQueue, int depth) {
        shared = new PostedReceives(1, workQueue::postReceive, slots, counters, depth, arrays);
        shared.refill();
    }

    boolean failed() {
        return own.failed() || shared != null && shared.failed();
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
        own.refillIfLow();
        if (shared != null) {
            shared.refillIfLow();
        }
        return burst.size();
    }

    private void complete(long wc, ReceiveBurst burst, boolean copyOut) {
        long wrId = Wc.wrId(wc);
        PostedReceives from = own;
        if (!own.isOurs(wrId)) {
            from = shared;
            if (from == null || !from.isOurs(wrId)) {
                return;
            }
        }
        int slotIndex = from.complete(wrId);
        int status = Wc.status(wc);
        if (status != VerbsFrameQueue.IBV_WC_SUCCESS) {
            from.fail(status, slotIndex);
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

    private ByteBuf copyOut(int slotIndex, int lengthBytes) {
        ByteBuf copy = ByteBufAllocator.DEFAULT.directBuffer(lengthBytes);
        FrameBuf slot = slots.openReceived(slotIndex, lengthBytes);
        copy.writeBytes(slot);
        slot.release();
        counters.copiedOutFrames++;
        return copy;
    }

    /** Takes all posted slots back: the queues were destroyed. */
    void abandon() {
        own.abandon();
        if (shared != null) {
            shared.abandon();
        }
    }
}
