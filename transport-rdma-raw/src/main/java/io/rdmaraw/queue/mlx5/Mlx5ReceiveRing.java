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
    private final NativeArena arrays;
    private final CompletionQueue ownCompletions;
    private final Mlx5ReceiveRequests own;
    private CompletionQueue sharedCompletions;
    private Mlx5ReceiveRequests shared;

    Mlx5ReceiveRing(QueuePairResources queues) {
        super(queues);
        setup = queues.setup();
        slots = queues.slots();
        counters = queues.counters();
        arrays = queues.arrays();
        ownCompletions = queues.receiveCompletions();
        own = new Mlx5ReceiveRequests(Mlx5dv.rings(queues.queuePair()).receive(), ownCompletions, slots, counters,
                setup.options().receiveQueueDepth(), arrays);
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
    protected CompletionQueue sharedCompletions() {
        if (sharedCompletions == null) {
            sharedCompletions = setup.receiveCompletionQueue(setup.options().receiveQueueDepth());
        }
        return sharedCompletions;
    }

    @Override
    protected void addShared(WorkQueue workQueue, int depth) {
        shared = new Mlx5ReceiveRequests(Mlx5dv.ring(workQueue), sharedCompletions, slots, counters, depth, arrays);
    }

    @Override
    protected int poll(ReceiveBurst burst) {
        int polled = poll(own, FrameQueue.BURST_FRAMES, burst);
        if (shared != null && polled < FrameQueue.BURST_FRAMES) {
            polled += poll(shared, FrameQueue.BURST_FRAMES - polled, burst);
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
        completions.release();
        return polled;
    }

    private void complete(long cqe, Mlx5ReceiveRequests from, ReceiveBurst burst, boolean copyOut) {
        int slotIndex = from.complete(cqe);
        if (Cqe.isError(cqe)) {
            from.fail(Cqe.status(cqe), slotIndex);
            return;
        }
        if (Cqe.hasInlineData(cqe)) {
            Cqe.copyInlineData(cqe, slots.slot(slotIndex).slotAddress());
        }
        deliver(burst, slotIndex, Cqe.byteCount(cqe), Cqe.flowTag(cqe), Cqe.checksumVerified(cqe), copyOut);
    }

    @Override
    protected void arm() {
        own.arm();
        if (shared != null) {
            shared.arm();
        }
    }

    @Override
    protected boolean owns(VerbsObject source) {
        return source == ownCompletions || sharedCompletions != null && source == sharedCompletions;
    }

    @Override
    protected void closeCompletions() {
        ownCompletions.close();
        if (sharedCompletions != null) {
            sharedCompletions.close();
        }
    }
}
