package io.rdmaraw.queue.mlx5;

import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.memory.StrideLayout;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.QueueCounters;
import io.rdmaraw.queue.QueuePairResources;
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
 * Receives through one striding receive queue (multi-packet receive queue). It takes the place of the work queue of
 * {@link ReceiveRing} and also serves the rules of this loop alone. The queue pair's own queue stays empty.
 *
 * <p>A receive request is a chunk of memory that is divided into strides. The device writes each frame to consecutive
 * strides of one chunk. If the next frame does not fit, a filler completion reports the unused rest of the chunk.
 */
final class StridingReceiveRing extends ReceiveRing {
    private final CompletionQueue completionQueue;
    private final SlotPool slots;
    private final StrideLayout layout;
    private final ReceiveRequests none;
    private final StridingReceiveRequests requests;

    StridingReceiveRing(QueuePairResources queues) {
        super(queues);
        completionQueue = queues.receiveCompletionQueue();
        slots = queues.slots();
        requests = new StridingReceiveRequests(Mlx5dv.ring(queues.striding().workQueue()), queues);
        layout = slots.strideLayout();
        none = new NoReceiveRequests(queues.counters());
    }

    @Override
    protected ReceiveRequests queuePairRequests() {
        return none;
    }

    @Override
    protected ReceiveRequests workQueueRequestsOrNull() {
        return requests;
    }

    @Override
    protected CompletionQueue workQueueCompletionQueue() {
        return completionQueue;
    }

    @Override
    protected void addWorkQueue(WorkQueue workQueue, int depth) {
        throw new UnsupportedOperationException("a striding ring cannot have another work queue");
    }

    /**
     * A frame that a handler holds keeps its whole chunk in use. While no chunk is free, arriving frames are copied,
     * so that their chunks become free.
     */
    @Override
    protected boolean mustCopyOut() {
        return slots.availableChunks() == 0;
    }

    @Override
    protected int poll(ReceiveBurst burst) {
        Mlx5CompletionQueue completions = requests.completions();
        long cqe = completions.next();
        if (cqe == 0) {
            return 0;
        }
        boolean copyOut = mustCopyOut();
        int polled = 0;
        while (true) {
            complete(cqe, burst, copyOut);
            if (++polled == FrameQueue.MAX_BURST_FRAMES) {
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

    /** Handles one completion: returns the strides that the frame does not fill, and delivers the frame. */
    private void complete(long cqe, ReceiveBurst burst, boolean copyOut) {
        boolean error = Cqe.isError(cqe);
        int byteCount = Cqe.byteCount(cqe);
        int strides = Cqe.stridesOf(byteCount);
        if (error) {
            requests.handleError(Cqe.status(cqe));
            if (requests.failed() || strides == 0) {
                return;
            }
        }
        int lengthBytes = error ? 0 : Cqe.stridingLengthOf(byteCount);
        int unused = error || Cqe.isFiller(byteCount) ? strides : strides - layout.stridesOf(lengthBytes);
        // After an inconsistent completion the positions of further frames are unknown until the queue is reset.
        int slot = unused < 0 || requests.failed() ? StridingReceiveRequests.DESYNCHRONIZED
                : requests.consume(strides, Cqe.wqeCounter(cqe));
        if (slot == StridingReceiveRequests.DESYNCHRONIZED) {
            requests.stopDesynchronized();
            return;
        }
        if (unused > 0) {
            slots.releaseStrides(slot + strides - unused, unused);
        }
        if (unused < strides) {
            addToBurst(burst, slot, lengthBytes, Cqe.flowTag(cqe), Cqe.checksumVerified(cqe), copyOut);
        }
    }

    @Override
    protected void arm() {
        requests.arm();
    }

    @Override
    protected boolean owns(VerbsObject source) {
        return source == completionQueue;
    }

    @Override
    protected void closeCompletions() {
        completionQueue.close();
    }

    /** The receive queue of the queue pair, which no rule leads to. */
    private static final class NoReceiveRequests extends ReceiveRequests {
        NoReceiveRequests(QueueCounters counters) {
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
        protected void reclaimAll() {
            // Nothing is posted.
        }
    }
}
