package io.rdmaraw.queue;

import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.VerbsObject;
import io.rdmaraw.verbs.WorkQueue;
import io.rdmaraw.verbs.mlx5.Cqe;
import io.rdmaraw.verbs.mlx5.Mlx5CompletionQueue;
import io.rdmaraw.verbs.mlx5.Mlx5dv;
import io.rdmaraw.verbs.mlx5.QueuePairRings;

import java.util.function.Supplier;

/**
 * Receiving by the rings of mlx5 queues. Requests have no identifiers here, and completions only those numbers of their
 * queue that libmlx5 keeps to itself: hence the work queue has a completion queue of its own.
 */
final class Mlx5ReceiveRing extends ReceiveRing {
    private final SlotPool slots;
    private final QueueCounters counters;
    private final NativeArrays arrays;
    private final CompletionQueue ownCompletions;
    private final Supplier<CompletionQueue> completionQueues;
    private final Mlx5PostedReceives own;
    private CompletionQueue sharedCompletions;
    private Mlx5PostedReceives shared;

    /** @param completionQueues makes the completion queue of a work queue */
    Mlx5ReceiveRing(QueuePairRings rings, CompletionQueue completions, Supplier<CompletionQueue> completionQueues,
                    SlotPool slots, QueueCounters counters, int depth, int copyOutBelow, NativeArrays arrays) {
        super(slots, counters, copyOutBelow);
        this.slots = slots;
        this.counters = counters;
        this.arrays = arrays;
        this.completionQueues = completionQueues;
        ownCompletions = completions;
        own = new Mlx5PostedReceives(rings.receive(), completions, slots, counters, depth, arrays);
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
        if (sharedCompletions == null) {
            sharedCompletions = completionQueues.get();
        }
        return sharedCompletions;
    }

    @Override
    void addShared(WorkQueue workQueue, int depth) {
        shared = new Mlx5PostedReceives(Mlx5dv.ring(workQueue), sharedCompletions, slots, counters, depth, arrays);
    }

    @Override
    int poll(ReceiveBurst burst) {
        int polled = poll(own, FrameQueue.BURST_FRAMES, burst);
        if (shared != null && polled < FrameQueue.BURST_FRAMES) {
            polled += poll(shared, FrameQueue.BURST_FRAMES - polled, burst);
        }
        return polled;
    }

    private int poll(Mlx5PostedReceives from, int limit, ReceiveBurst burst) {
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

    private void complete(long cqe, Mlx5PostedReceives from, ReceiveBurst burst, boolean copyOut) {
        int slotIndex = from.complete(cqe);
        if (Cqe.isError(cqe)) {
            from.fail(Cqe.status(cqe), slotIndex);
            return;
        }
        if (Cqe.hasInlineData(cqe)) {
            Cqe.takeInlineData(cqe, slots.slot(slotIndex).slotAddress());
        }
        deliver(burst, slotIndex, Cqe.byteCount(cqe), Cqe.flowTag(cqe), Cqe.checksumVerified(cqe), copyOut);
    }

    @Override
    void arm() {
        own.arm();
        if (shared != null) {
            shared.arm();
        }
    }

    @Override
    boolean owns(VerbsObject source) {
        return source == ownCompletions || sharedCompletions != null && source == sharedCompletions;
    }

    @Override
    void closeCompletions() {
        ownCompletions.close();
        if (sharedCompletions != null) {
            sharedCompletions.close();
        }
    }
}
