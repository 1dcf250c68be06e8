package io.rdmaraw.queue;

import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.memory.StrideLayout;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.VerbsObject;
import io.rdmaraw.verbs.WcStatus;
import io.rdmaraw.verbs.WorkQueue;
import io.rdmaraw.verbs.mlx5.Cqe;
import io.rdmaraw.verbs.mlx5.Mlx5CompletionQueue;

/** Receiving by a striding queue, for the rules of this loop and for those that several loops share. */
final class StridingReceiveRing extends ReceiveRing {
    private final CompletionQueue completionQueue;
    private final SlotPool slots;
    private final StrideLayout layout;
    private final PostedReceives none;
    private final StridingReceives receives;

    StridingReceiveRing(CompletionQueue completionQueue, StridingReceives receives, SlotPool slots,
                        QueueCounters counters) {
        super(slots, counters, 0);
        this.completionQueue = completionQueue;
        this.slots = slots;
        this.receives = receives;
        layout = slots.strideLayout();
        none = new NoReceives(counters);
    }

    @Override
    PostedReceives own() {
        return none;
    }

    @Override
    PostedReceives sharedOrNull() {
        return receives;
    }

    @Override
    CompletionQueue sharedCompletions() {
        return completionQueue;
    }

    @Override
    void addShared(WorkQueue workQueue, int depth) {
        throw new UnsupportedOperationException("a striding queue is the only one");
    }

    /**
     * Frames that handlers hold pin whole chunks: what comes in while none is free is copied, so that theirs come back.
     */
    @Override
    boolean mustCopyOut() {
        return slots.availableChunks() == 0;
    }

    @Override
    int poll(ReceiveBurst burst) {
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
        if (Cqe.isError(cqe)) {
            receives.fail(Cqe.status(cqe));
            return;
        }
        int byteCount = Cqe.byteCount(cqe);
        int strides = Cqe.stridesOf(byteCount);
        int lengthBytes = Cqe.stridingLengthOf(byteCount);
        int unused = Cqe.isFiller(byteCount) ? strides : strides - layout.stridesOf(lengthBytes);
        // Behind a completion that cannot be right nothing is known of where frames are, until the queue is reset.
        int slot = unused < 0 || receives.failed() ? StridingReceives.OUT_OF_STEP
                : receives.consume(strides, Cqe.wqeCounter(cqe));
        if (slot == StridingReceives.OUT_OF_STEP) {
            receives.fail(WcStatus.BAD_RESP_ERR);
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
    void arm() {
        receives.arm();
    }

    @Override
    boolean owns(VerbsObject source) {
        return source == completionQueue;
    }

    @Override
    void closeCompletions() {
        completionQueue.close();
    }

    /** Those of the queue pair, which no rule leads to. */
    private static final class NoReceives extends PostedReceives {
        NoReceives(QueueCounters counters) {
            super(counters, 0, 1);
        }

        @Override
        int describeBatch(int room) {
            return 0;
        }

        @Override
        int postDescribed(int count) {
            return count;
        }

        @Override
        void takeBackAll() {
            // There are none.
        }
    }
}
