package io.rdmaraw.queue.mlx5;

import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.NativeArena;
import io.rdmaraw.queue.QueueCounters;
import io.rdmaraw.queue.QueuePairResources;
import io.rdmaraw.queue.QueueSetup;
import io.rdmaraw.queue.ReceiveBurst;
import io.rdmaraw.queue.ReceiveRequests;
import io.rdmaraw.queue.ReceiveRing;
import io.rdmaraw.verbs.mlx5.Cqe;
import io.rdmaraw.verbs.mlx5.Mlx5CompletionQueue;
import io.rdmaraw.verbs.mlx5.Mlx5dv;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.VerbsObject;
import io.rdmaraw.verbs.objects.WorkQueue;

/**
 * Receives through the rings of mlx5 queues. Direct requests have no IDs, and a completion identifies its queue
 * only by numbers that libmlx5 does not publish. Therefore the work queue has its own completion queue.
 */
final class Mlx5ReceiveRing extends ReceiveRing {
    private final QueueSetup setup;
    private final SlotPool slots;
    private final QueueCounters counters;
    private final NativeArena arena;
    private final CompletionQueue queuePairCompletionQueue;
    private final Mlx5ReceiveRequests queuePairRequests;
    private CompletionQueue workQueueCompletionQueue;
    private Mlx5ReceiveRequests workQueueRequests;

    Mlx5ReceiveRing(QueuePairResources queues) {
        super(queues);
        setup = queues.setup();
        slots = queues.slots();
        counters = queues.counters();
        arena = queues.arena();
        queuePairCompletionQueue = queues.receiveCompletionQueue();
        queuePairRequests = new Mlx5ReceiveRequests(Mlx5dv.rings(queues.queuePair()).receive(),
                queuePairCompletionQueue, slots, counters, setup.options().receiveQueueDepth(), arena);
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
    protected CompletionQueue workQueueCompletionQueue() {
        if (workQueueCompletionQueue == null) {
            workQueueCompletionQueue = setup.receiveCompletionQueue(setup.options().receiveQueueDepth());
        }
        return workQueueCompletionQueue;
    }

    @Override
    protected void addWorkQueue(WorkQueue workQueue, int depth) {
        workQueueRequests = new Mlx5ReceiveRequests(Mlx5dv.ring(workQueue), workQueueCompletionQueue, slots, counters,
                depth, arena);
    }

    @Override
    protected int poll(ReceiveBurst burst) {
        int polled = poll(queuePairRequests, FrameQueue.MAX_BURST_FRAMES, burst);
        if (workQueueRequests != null && polled < FrameQueue.MAX_BURST_FRAMES) {
            polled += poll(workQueueRequests, FrameQueue.MAX_BURST_FRAMES - polled, burst);
        }
        return polled;
    }

    private int poll(Mlx5ReceiveRequests from, int limit, ReceiveBurst burst) {
        Mlx5CompletionQueue completions = from.completions();
        long cqe = completions.next();
        if (cqe == 0) {
            return 0;
        }
        boolean copyOut = mustCopyOut();
        int polled = 0;
        while (true) {
            complete(cqe, from, burst, copyOut);
            if (++polled == limit) {
                break;
            }
            cqe = completions.next();
            if (cqe == 0) {
                break;
            }
        }
        completions.releaseEntries();
        return polled;
    }

    private void complete(long cqe, Mlx5ReceiveRequests from, ReceiveBurst burst, boolean copyOut) {
        int slotIndex = from.complete(cqe);
        if (Cqe.isError(cqe)) {
            from.handleError(Cqe.status(cqe), slotIndex);
            return;
        }
        if (Cqe.hasInlineData(cqe)) {
            Cqe.copyInlineData(cqe, slots.slot(slotIndex).slotAddress());
        }
        addToBurst(burst, slotIndex, Cqe.byteCount(cqe), Cqe.flowTag(cqe), Cqe.checksumVerified(cqe), copyOut);
    }

    @Override
    protected void arm() {
        queuePairRequests.arm();
        if (workQueueRequests != null) {
            workQueueRequests.arm();
        }
    }

    @Override
    protected boolean owns(VerbsObject source) {
        return source == queuePairCompletionQueue
                || workQueueCompletionQueue != null && source == workQueueCompletionQueue;
    }

    @Override
    protected void closeCompletions() {
        queuePairCompletionQueue.close();
        if (workQueueCompletionQueue != null) {
            workQueueCompletionQueue.close();
        }
    }
}
