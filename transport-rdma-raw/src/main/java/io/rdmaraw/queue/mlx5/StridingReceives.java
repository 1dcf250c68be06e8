package io.rdmaraw.queue.mlx5;

import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.memory.StrideLayout;
import io.rdmaraw.queue.QueuePairResources;
import io.rdmaraw.queue.ReceiveRequests;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.mlx5.Mlx5CompletionQueue;
import io.rdmaraw.verbs.mlx5.Mlx5ReceiveQueue;
import io.rdmaraw.verbs.mlx5.Mlx5dv;
import io.rdmaraw.verbs.mlx5.ReceiveQueueRing;

/**
 * Receives that are written to the ring of a striding queue, one chunk each. The device fills chunks in the order they
 * were posted, and each from its beginning; so a completion is of the strides behind those of the one before it.
 */
final class StridingReceives extends ReceiveRequests {
    /** What {@link #consume} returns when the device and this class do not agree on where a frame is. */
    static final int OUT_OF_STEP = -1;

    private final SlotPool slots;
    private final int stridesPerChunk;
    private final CompletionQueue completionQueue;
    private final Mlx5CompletionQueue completions;
    private final Mlx5ReceiveQueue queue;
    /** The first strides' slots of the chunks that are posted, by the number of the request. */
    private final int[] firstSlots;
    private int produced;
    private int consumed;
    /** The next stride of the request that is being filled. */
    private int stride;

    StridingReceives(ReceiveQueueRing ring, QueuePairResources queues) {
        super(queues.counters(), Math.min(queues.setup().plan().maxRequests(), ring.entries()), 1);
        StrideLayout layout = queues.setup().plan().layout();
        slots = queues.slots();
        completionQueue = queues.receiveCompletions();
        stridesPerChunk = layout.stridesPerChunk();
        completions = new Mlx5CompletionQueue(Mlx5dv.ring(completionQueue),
                queues.arrays().allocate(Mlx5CompletionQueue.SCRATCH_BYTES), true);
        queue = Mlx5ReceiveQueue.striding(ring, layout.chunkBytes(), slots.slot(0).lkey());
        firstSlots = new int[queue.entries()];
    }

    Mlx5CompletionQueue completions() {
        return completions;
    }

    /**
     * A completion is of so many strides. Hot.
     *
     * @param reported which one is the first, as the device has it
     * @return the slot of the first, or {@link #OUT_OF_STEP}
     */
    int consume(int count, int reported) {
        int first = stride;
        int end = first + count;
        if (reported != first || count == 0 || end > stridesPerChunk || consumed == produced) {
            return OUT_OF_STEP;
        }
        int slot = firstSlots[queue.placeOf(consumed)] + first;
        if (end == stridesPerChunk) {
            stride = 0;
            consumed++;
            completed();
        } else {
            stride = end;
        }
        return slot;
    }

    /** Nothing is known any more of where the device writes frames to. */
    void outOfStep() {
        fail(WcStatus.BAD_RESP_ERR);
        stop();
    }

    @Override
    protected int describeBatch(int room) {
        int count = 0;
        while (count < room) {
            int first = slots.takeChunk();
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
        queue.ring();
        return count;
    }

    void arm() {
        completions.arm(completionQueue.eventsTaken());
    }

    @Override
    protected void takeBackAll() {
        completions.discardAll();
        while (consumed != produced) {
            slots.returnStrides(firstSlots[queue.placeOf(consumed)] + stride, stridesPerChunk - stride);
            stride = 0;
            consumed++;
            completed();
        }
        produced = 0;
        consumed = 0;
        queue.reset();
    }
}
