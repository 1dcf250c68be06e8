package io.rdmaraw.queue.mlx5;

import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.memory.StrideLayout;
import io.rdmaraw.queue.QueuePairResources;
import io.rdmaraw.queue.ReceiveRequests;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.mlx5.Mlx5CompletionQueue;
import io.rdmaraw.verbs.mlx5.Mlx5ReceiveQueue;
import io.rdmaraw.verbs.mlx5.Mlx5dv;
import io.rdmaraw.verbs.mlx5.ReceiveQueueRing;
import io.rdmaraw.verbs.objects.CompletionQueue;

/**
 * Receive requests of one chunk each, written directly to the ring of a striding queue. The device fills chunks
 * in the order in which they were posted, and each from its beginning. Therefore a completion covers the
 * strides that follow those of the previous completion.
 */
final class StridingReceiveRequests extends ReceiveRequests {
    /** Returned by {@link #consume} if the device reports another position than expected. */
    static final int DESYNCHRONIZED = -1;

    private final SlotPool slots;
    private final int stridesPerChunk;
    private final CompletionQueue completionQueue;
    private final Mlx5CompletionQueue completions;
    private final Mlx5ReceiveQueue queue;
    /** Slot index of the first stride of each posted chunk, by place in the ring. */
    private final int[] firstSlots;
    private int produced;
    private int consumed;
    /** The next stride in the chunk that is being filled. */
    private int nextStride;

    StridingReceiveRequests(ReceiveQueueRing ring, QueuePairResources queues) {
        super(queues.counters(), Math.min(queues.setup().plan().maxRequests(), ring.entries()), 1);
        StrideLayout layout = queues.setup().plan().layout();
        slots = queues.slots();
        completionQueue = queues.receiveCompletionQueue();
        stridesPerChunk = layout.stridesPerChunk();
        completions = new Mlx5CompletionQueue(Mlx5dv.ring(completionQueue),
                queues.arena().allocate(Mlx5CompletionQueue.SCRATCH_BYTES), true);
        queue = Mlx5ReceiveQueue.striding(ring, layout.chunkBytes(), slots.slot(0).lkey());
        firstSlots = new int[queue.entries()];
    }

    Mlx5CompletionQueue completions() {
        return completions;
    }

    /**
     * Consumes the strides of a completion. Hot path.
     *
     * @param count          number of strides
     * @param reportedStride index of the first stride as reported by the device
     * @return the slot of the first stride, or {@link #DESYNCHRONIZED}
     */
    int consume(int count, int reportedStride) {
        int first = nextStride;
        int end = first + count;
        if (reportedStride != first || count == 0 || end > stridesPerChunk || consumed == produced) {
            return DESYNCHRONIZED;
        }
        int slot = firstSlots[queue.ringIndexOf(consumed)] + first;
        if (end == stridesPerChunk) {
            nextStride = 0;
            consumed++;
            recordCompletion();
        } else {
            nextStride = end;
        }
        return slot;
    }

    /** Stops the queue because the positions of further frames are unknown. */
    void stopDesynchronized() {
        handleError(WcStatus.BAD_RESP_ERR);
        stop();
    }

    @Override
    protected int describeBatch(int room) {
        int count = 0;
        while (count < room) {
            int first = slots.acquireChunk();
            if (first < 0) {
                break;
            }
            firstSlots[queue.put(slots.slot(first).slotAddress())] = first;
            produced++;
            count++;
        }
        return count;
    }

    @Override
    protected int postDescribed(int count) {
        queue.ringDoorbell();
        return count;
    }

    void arm() {
        completions.arm(completionQueue.eventsTaken());
    }

    @Override
    protected void reclaimAll() {
        completions.discardAll();
        while (consumed != produced) {
            slots.releaseStrides(firstSlots[queue.ringIndexOf(consumed)] + nextStride, stridesPerChunk - nextStride);
            nextStride = 0;
            consumed++;
            recordCompletion();
        }
        produced = 0;
        consumed = 0;
        queue.reset();
    }
}
