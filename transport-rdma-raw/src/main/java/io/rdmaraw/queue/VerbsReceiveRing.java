package io.rdmaraw.queue;

import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.VerbsObject;
import io.rdmaraw.verbs.Wc;
import io.rdmaraw.verbs.WcStatus;
import io.rdmaraw.verbs.WorkQueue;

/** Receiving by the calls of libibverbs: one completion queue for the queue pair and the work queue. */
final class VerbsReceiveRing extends ReceiveRing {
    private final CompletionQueue completions;
    private final SlotPool slots;
    private final QueueCounters counters;
    private final NativeArrays arrays;
    private final long workCompletions;
    private final VerbsPostedReceives own;
    /** What rules that several loops share lead to; null as long as there is none. */
    private VerbsPostedReceives shared;

    VerbsReceiveRing(QueuePair queuePair, CompletionQueue completions, SlotPool slots, QueueCounters counters,
                     int depth, int copyOutBelow, NativeArrays arrays) {
        super(slots, counters, copyOutBelow);
        this.completions = completions;
        this.slots = slots;
        this.counters = counters;
        this.arrays = arrays;
        own = new VerbsPostedReceives(0, queuePair::postReceive, slots, counters, depth, arrays);
        workCompletions = arrays.allocate(FrameQueue.BURST_FRAMES * Wc.SIZE_BYTES);
    }

    @Override
    PostedReceives own() {
        return own;
    }

    @Override
    PostedReceives sharedOrNull() {
        return shared;
    }

    @Override
    CompletionQueue sharedCompletions() {
        return completions;
    }

    @Override
    void addShared(WorkQueue workQueue, int depth) {
        shared = new VerbsPostedReceives(1, workQueue::postReceive, slots, counters, depth, arrays);
    }

    @Override
    int poll(ReceiveBurst burst) {
        int polled = completions.poll(FrameQueue.BURST_FRAMES, workCompletions);
        if (polled > 0) {
            boolean copyOut = mustCopyOut();
            for (int i = 0; i < polled; i++) {
                complete(workCompletions + (long) i * Wc.SIZE_BYTES, burst, copyOut);
            }
        }
        return polled;
    }

    private void complete(long wc, ReceiveBurst burst, boolean copyOut) {
        long wrId = Wc.wrId(wc);
        VerbsPostedReceives from = own;
        if (!own.isOurs(wrId)) {
            from = shared;
            if (from == null || !from.isOurs(wrId)) {
                return;
            }
        }
        int slotIndex = from.complete(wrId);
        int status = Wc.status(wc);
        if (status != WcStatus.SUCCESS) {
            from.fail(status, slotIndex);
            return;
        }
        deliver(burst, slotIndex, Wc.byteLen(wc), Wc.qpNum(wc), (Wc.wcFlags(wc) & Wc.FLAG_IP_CSUM_OK) != 0, copyOut);
    }

    @Override
    void arm() {
        completions.requestNotification(false);
    }

    @Override
    boolean owns(VerbsObject source) {
        return source == completions;
    }

    @Override
    void closeCompletions() {
        completions.close();
    }
}
