package io.rdmaraw.queue.mlx5;

import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.queue.NativeArena;
import io.rdmaraw.queue.QueueCounters;
import io.rdmaraw.queue.SlotReceiveRequests;
import io.rdmaraw.verbs.mlx5.Cqe;
import io.rdmaraw.verbs.mlx5.Mlx5CompletionQueue;
import io.rdmaraw.verbs.mlx5.Mlx5ReceiveQueue;
import io.rdmaraw.verbs.mlx5.Mlx5dv;
import io.rdmaraw.verbs.mlx5.ReceiveQueueRing;
import io.rdmaraw.verbs.objects.CompletionQueue;

import java.util.Arrays;

/** Receive requests written directly to the ring of an mlx5 receive queue, which has its own completion queue. */
final class Mlx5ReceiveRequests extends SlotReceiveRequests {
    private static final int NONE = -1;

    private final CompletionQueue completionQueue;
    private final Mlx5CompletionQueue completions;
    private final Mlx5ReceiveQueue queue;
    /** Slot index at each place of the ring, or {@link #NONE} if none is posted there. */
    private final int[] slotIndices;

    Mlx5ReceiveRequests(ReceiveQueueRing ring, CompletionQueue completionQueue, SlotPool slots, QueueCounters counters,
                       int depth, NativeArena arena) {
        super(slots, counters, Math.min(depth, ring.entries()));
        this.completionQueue = completionQueue;
        completions = new Mlx5CompletionQueue(Mlx5dv.ring(completionQueue),
                arena.allocate(Mlx5CompletionQueue.SCRATCH_BYTES));
        FrameBuf any = slots.slot(0);
        queue = new Mlx5ReceiveQueue(ring, any.slotCapacityBytes(), any.lkey());
        slotIndices = new int[queue.entries()];
        Arrays.fill(slotIndices, NONE);
    }

    Mlx5CompletionQueue completions() {
        return completions;
    }

    /** Handles a completion and returns the slot of its request. */
    int complete(long cqe) {
        int place = queue.ringIndexOf(Cqe.wqeCounter(cqe));
        int slotIndex = slotIndices[place];
        slotIndices[place] = NONE;
        recordCompletion();
        return slotIndex;
    }

    @Override
    protected void describe(int index, FrameBuf slot) {
        slotIndices[queue.put(slot.slotAddress())] = slot.slotIndex();
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
        for (int i = 0; i < slotIndices.length; i++) {
            if (slotIndices[i] != NONE) {
                reclaim(slotIndices[i]);
                slotIndices[i] = NONE;
            }
        }
        queue.reset();
    }
}
