package io.rdmaraw.queue.mlx5;

import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.memory.StrideLayout;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.QueueCounters;
import io.rdmaraw.queue.QueuePairResources;
import io.rdmaraw.queue.ReceiveBurst;
import io.rdmaraw.queue.ReceiveRequests;
import io.rdmaraw.queue.ReceiveRing;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.VerbsObject;
import io.rdmaraw.verbs.WorkQueue;
import io.rdmaraw.verbs.mlx5.Cqe;
import io.rdmaraw.verbs.mlx5.Mlx5CompletionQueue;
import io.rdmaraw.verbs.mlx5.Mlx5dv;

/** Receiving by a striding queue, for the rules of this loop and for those that several loops share. */
final class StridingReceiveRing extends ReceiveRing {
    private final CompletionQueue completionQueue;
    private final SlotPool slots;
    private final StrideLayout layout;
    private final ReceiveRequests none;
    private final StridingReceives receives;

    StridingReceiveRing(QueuePairResources queues) {
        super(queues);
        completionQueue = queues.receiveCompletions();
        slots = queues.slots();
        receives = new StridingReceives(Mlx5dv.ring(queues.striding().workQueue()), queues);
        layout = slots.strideLayout();
        none = new NoReceives(queues.counters());
    }

    @Override
    protected ReceiveRequests own() {
        return none;
    }

    @Override
    protected ReceiveRequests sharedOrNull() {
        return receives;
    }

    @Override
    protected CompletionQueue sharedCompletions() {
        return completionQueue;
    }

    @Override
    protected void addShared(WorkQueue workQueue, int depth) {
        throw new UnsupportedOperationException("a striding queue is the only one");
    }

    /**
     * Frames that handlers hold pin whole chunks: what comes in while none is free is copied, so that theirs come back.
     */
    @Override
    protected boolean mustCopyOut() {
        return slots.availableChunks() == 0;
    }

    @Override
    protected int poll(ReceiveBurst burst) {
        Mlx5CompletionQueue completions = receives.completions();
        long cqe = completions.next();
        if (cqe == 0) {
            return 0;
        }
        boolean copyOut = mustCopyOut();
        int polled = 0;
        while (true) {
            complete(cqe, burst, copyOut);
            if (++polled == FrameQueue.BURST_FRAMES) {
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

    private void complete(long cqe, ReceiveBurst burst, boolean copyOut) {
        boolean error = Cqe.isError(cqe);
        int byteCount = Cqe.byteCount(cqe);
        int strides = Cqe.stridesOf(byteCount);
        if (error) {
            receives.fail(Cqe.status(cqe));
            if (receives.failed() || strides == 0) {
                return;
            }
        }
        int lengthBytes = error ? 0 : Cqe.stridingLengthOf(byteCount);
        int unused = error || Cqe.isFiller(byteCount) ? strides : strides - layout.stridesOf(lengthBytes);
        // Behind a completion that cannot be right nothing is known of where frames are, until the queue is reset.
        int slot = unused < 0 || receives.failed() ? StridingReceives.OUT_OF_STEP
                : receives.consume(strides, Cqe.wqeCounter(cqe));
        if (slot == StridingReceives.OUT_OF_STEP) {
            receives.outOfStep();
            return;
        }
        if (unused > 0) {
            slots.returnStrides(slot + strides - unused, unused);
        }
        if (unused < strides) {
            deliver(burst, slot, lengthBytes, Cqe.flowTag(cqe), Cqe.checksumVerified(cqe), copyOut);
        }
    }

    @Override
    protected void arm() {
        receives.arm();
    }

    @Override
    protected boolean owns(VerbsObject source) {
        return source == completionQueue;
    }

    @Override
    protected void closeCompletions() {
        completionQueue.close();
    }

    /** Those of the queue pair, which no rule leads to. */
    private static final class NoReceives extends ReceiveRequests {
        NoReceives(QueueCounters counters) {
            super(counters, 0, 1);
        }

        @Override
        protected int describeBatch(int room) {
            return 0;
        }

        @Override
        protected int postDescribed(int count) {
            return count;
        }

        @Override
        protected void takeBackAll() {
            // There are none.
        }
    }
}
