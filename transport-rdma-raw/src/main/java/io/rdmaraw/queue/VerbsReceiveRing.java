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
    private final CompletionQueue completionQueue;
    private final SlotPool slots;
    private final QueueCounters counters;
    private final NativeArena arena;
    private final long workCompletions;
    /** Requests posted to the receive queue of the queue pair. */
    private final VerbsReceiveRequests queuePairRequests;
    /** Requests posted to the work queue of flow rules that several loops share (RSS); null until it is added. */
    private VerbsReceiveRequests workQueueRequests;
    /** Requests for GSO frames; null if the device does not deliver them. */
    private final VerbsReceiveRequests gsoRequests;

    VerbsReceiveRing(QueuePairResources queues) {
        super(queues);
        completionQueue = queues.receiveCompletionQueue();
        slots = queues.slots();
        counters = queues.counters();
        arena = queues.arena();
        queuePairRequests = new VerbsReceiveRequests(0, queues.queuePair()::postReceive, slots, counters,
                queues.setup().options().receiveQueueDepth(), arena);
        WorkQueue gsoQueue = queues.gsoQueue();
        gsoRequests = gsoQueue == null ? null
                : VerbsReceiveRequests.ofGso(2, gsoQueue::postReceive, slots, counters, arena);
        workCompletions = arena.allocate(FrameQueue.MAX_BURST_FRAMES * Wc.SIZE_BYTES);
    }

    @Override
    protected ReceiveRequests queuePairRequests() {
        return queuePairRequests;
    }

    @Override
    protected ReceiveRequests workQueueRequestsOrNull() {
        return workQueueRequests;
    }

    @Override
    protected ReceiveRequests gsoRequestsOrNull() {
        return gsoRequests;
    }

    @Override
    protected CompletionQueue workQueueCompletionQueue() {
        return completionQueue;
    }

    @Override
    protected void addWorkQueue(WorkQueue workQueue, int depth) {
        workQueueRequests = new VerbsReceiveRequests(1, workQueue::postReceive, slots, counters, depth, arena);
    }

    @Override
    protected int poll(ReceiveBurst burst) {
        int polled = completionQueue.poll(FrameQueue.MAX_BURST_FRAMES, workCompletions);
        if (polled > 0) {
            boolean copyOut = mustCopyOut();
            boolean copyGsoOut = gsoRequests != null && GsoReception.mustCopyOut(slots, gsoRequests);
            for (int i = 0; i < polled; i++) {
                complete(workCompletions + (long) i * Wc.SIZE_BYTES, burst, copyOut, copyGsoOut);
            }
        }
        return polled;
    }

    /**
     * Handles a completion. Completions of requests posted before a reset belong to no queue and are ignored. The queue
     * pair number of a received raw packet is the tag of the flow rule that it matched.
     */
    private void complete(long wc, ReceiveBurst burst, boolean copyOut, boolean copyGsoOut) {
        long wrId = Wc.wrId(wc);
        VerbsReceiveRequests from = queuePairRequests;
        if (!queuePairRequests.ownsRequest(wrId)) {
            from = workQueueRequests != null && workQueueRequests.ownsRequest(wrId) ? workQueueRequests : gsoRequests;
            if (from == null || !from.ownsRequest(wrId)) {
                return;
            }
        }
        int slotIndex = from.complete(wrId);
        int status = Wc.status(wc);
        if (status != WcStatus.SUCCESS) {
            from.handleError(status, slotIndex);
            return;
        }
        addToBurst(burst, slotIndex, Wc.byteLen(wc), Wc.qpNum(wc), (Wc.wcFlags(wc) & Wc.FLAG_IP_CSUM_OK) != 0,
                from == gsoRequests ? copyGsoOut : copyOut);
    }

    @Override
    protected void arm() {
        completionQueue.requestNotification(false);
    }

    @Override
    protected boolean owns(VerbsObject source) {
        return source == completionQueue;
    }

    @Override
    protected void closeCompletions() {
        completionQueue.close();
    }
}
