package io.rdmaraw.queue;

import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.VerbsObject;
import io.rdmaraw.verbs.objects.Wc;
import io.rdmaraw.verbs.objects.WorkQueue;

/**
 * Receives through libibverbs. The queue pair and the work queues share one completion queue. The work request ID of a
 * completion identifies its queue.
 */
final class VerbsReceiveRing extends ReceiveRing {
    private final CompletionQueue completions;
    private final SlotPool slots;
    private final QueueCounters counters;
    private final NativeArena arrays;
    private final long workCompletions;
    /** Requests posted to the receive queue of the queue pair. */
    private final VerbsReceiveRequests own;
    /** Requests posted to the work queue of flow rules that several loops share (RSS); null until it is added. */
    private VerbsReceiveRequests shared;
    /** Requests for TCP packets larger than the MTU; null if the device does not deliver such packets. */
    private final VerbsReceiveRequests large;

    VerbsReceiveRing(QueuePairResources queues) {
        super(queues);
        completions = queues.receiveCompletions();
        slots = queues.slots();
        counters = queues.counters();
        arrays = queues.arrays();
        own = new VerbsReceiveRequests(0, queues.queuePair()::postReceive, slots, counters,
                queues.setup().options().receiveQueueDepth(), arrays);
        WorkQueue largeQueue = queues.large();
        large = largeQueue == null ? null
                : VerbsReceiveRequests.ofChunks(2, largeQueue::postReceive, slots, counters, arrays);
        workCompletions = arrays.allocate(FrameQueue.BURST_FRAMES * Wc.SIZE_BYTES);
    }

    @Override
    protected ReceiveRequests ownRequests() {
        return own;
    }

    @Override
    protected ReceiveRequests sharedOrNull() {
        return shared;
    }

    @Override
    protected ReceiveRequests largeOrNull() {
        return large;
    }

    @Override
    protected CompletionQueue sharedCompletions() {
        return completions;
    }

    @Override
    protected void addShared(WorkQueue workQueue, int depth) {
        shared = new VerbsReceiveRequests(1, workQueue::postReceive, slots, counters, depth, arrays);
    }

    @Override
    protected int poll(ReceiveBurst burst) {
        int polled = completions.poll(FrameQueue.BURST_FRAMES, workCompletions);
        if (polled > 0) {
            boolean copyOut = mustCopyOut();
            boolean copyLargeOut = large != null && LargeReceives.mustCopyOut(slots, large);
            for (int i = 0; i < polled; i++) {
                complete(workCompletions + (long) i * Wc.SIZE_BYTES, burst, copyOut, copyLargeOut);
            }
        }
        return polled;
    }

    /**
     * Handles a completion. Completions of requests posted before a reset belong to no queue and are ignored. The queue
     * pair number of a received raw packet is the tag of the flow rule that it matched.
     */
    private void complete(long wc, ReceiveBurst burst, boolean copyOut, boolean copyLargeOut) {
        long wrId = Wc.wrId(wc);
        VerbsReceiveRequests from = own;
        if (!own.ownsRequest(wrId)) {
            from = shared != null && shared.ownsRequest(wrId) ? shared : large;
            if (from == null || !from.ownsRequest(wrId)) {
                return;
            }
        }
        int slotIndex = from.complete(wrId);
        int status = Wc.status(wc);
        if (status != WcStatus.SUCCESS) {
            from.fail(status, slotIndex);
            return;
        }
        deliver(burst, slotIndex, Wc.byteLen(wc), Wc.qpNum(wc), (Wc.wcFlags(wc) & Wc.FLAG_IP_CSUM_OK) != 0,
                from == large ? copyLargeOut : copyOut);
    }

    @Override
    protected void arm() {
        completions.requestNotification(false);
    }

    @Override
    protected boolean owns(VerbsObject source) {
        return source == completions;
    }

    @Override
    protected void closeCompletions() {
        completions.close();
    }
}
