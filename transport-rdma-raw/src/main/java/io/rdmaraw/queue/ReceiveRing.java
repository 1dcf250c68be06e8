package io.rdmaraw.queue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.VerbsObject;
import io.rdmaraw.verbs.objects.WorkQueue;

/**
 * The receiving half of a {@link FrameQueue}. It posts free slots to the receive queues and adds the
 * slots that the device has filled to a burst. Subclasses determine how completions are polled.
 *
 * <p>Handlers that hold received frames reduce the number of free slots. If few slots are left, received frames
 * are copied to other memory and their slots are posted again. Held frames can therefore not empty the receive
 * queue. The copies are counted. If memory for a copy is exhausted, the frame is dropped and counted.
 */
public abstract class ReceiveRing {
    /**
     * If fewer slots than this are free, received frames are copied out. The reserve is used to copy frames
     * that are sent from unregistered memory, so that a handler that holds frames cannot block sending.
     */
    static final int RESERVED_SLOTS = 2 * FrameQueue.MAX_BURST_FRAMES;

    private final SlotPool slots;
    private final QueueCounters counters;
    private final int copyOutBelow;
    private final ByteBufAllocator copyAllocator;

    protected ReceiveRing(QueuePairResources queues) {
        this(queues.slots(), queues.counters(), RESERVED_SLOTS, ByteBufAllocator.DEFAULT);
    }

    ReceiveRing(SlotPool slots, QueueCounters counters, int copyOutBelow, ByteBufAllocator copyAllocator) {
        this.copyAllocator = copyAllocator;
        this.slots = slots;
        this.counters = counters;
        this.copyOutBelow = copyOutBelow;
    }

    /** Returns the receive requests of the queue pair. */
    protected abstract ReceiveRequests queuePairRequests();

    /** Returns the requests of the work queue of rules that several loops share, or null if there is no such queue. */
    protected abstract ReceiveRequests workQueueRequestsOrNull();

    /** Returns the receive requests of the queue for GSO frames, or null if there is none. */
    protected ReceiveRequests gsoRequestsOrNull() {
        return null;
    }

    /** Returns the completion queue to use for a work queue that is passed to {@link #addWorkQueue}. */
    protected abstract CompletionQueue workQueueCompletionQueue();

    /** Starts receiving from a work queue as well. */
    protected abstract void addWorkQueue(WorkQueue workQueue, int depth);

    /**
     * Polls up to a burst of completions and passes received frames to {@link #addToBurst}.
     *
     * @return the number of completions
     */
    protected abstract int poll(ReceiveBurst burst);

    /** Requests an event for the next completion. */
    protected abstract void arm();

    /** Returns whether an object is one of this ring's completion queues. */
    protected abstract boolean owns(VerbsObject source);

    /** Closes the completion queues. The queues that complete there must have been closed. */
    protected abstract void closeCompletions();

    final boolean failed() {
        return queuePairRequests().failed() || hasFailed(workQueueRequestsOrNull()) || hasFailed(gsoRequestsOrNull());
    }

    private static boolean hasFailed(ReceiveRequests requests) {
        return requests != null && requests.failed();
    }

    /** Posts free slots to each receive queue that lacks a batch. */
    final void refillIfLow() {
        queuePairRequests().refillIfLow();
        ReceiveRequests workQueueRequests = workQueueRequestsOrNull();
        if (workQueueRequests != null) {
            workQueueRequests.refillIfLow();
        }
        ReceiveRequests gsoRequests = gsoRequestsOrNull();
        if (gsoRequests != null) {
            gsoRequests.refillIfLow();
        }
    }

    /** Returns whether slots are so short that arriving frames must be copied out. Call once per poll. */
    protected boolean mustCopyOut() {
        ReceiveRequests workQueueRequests = workQueueRequestsOrNull();
        int refillDemand = queuePairRequests().refillDemand()
                + (workQueueRequests != null ? workQueueRequests.refillDemand() : 0);
        return slots.available() - refillDemand < copyOutBelow;
    }

    /** Adds a received frame to the burst. */
    protected final void addToBurst(ReceiveBurst burst, int slotIndex, int lengthBytes, int flowTag,
            boolean checksumVerified,
                       boolean copyOut) {
        if (copyOut) {
            ByteBuf copy = copyOut(slotIndex, lengthBytes);
            if (copy != null) {
                burst.addCopy(copy, flowTag, checksumVerified);
            }
        } else {
            burst.addSlot(slotIndex, lengthBytes, flowTag, checksumVerified);
        }
    }

    /**
     * Copies a frame to memory outside the pool and frees its slot. Returns null and drops the frame if memory
     * is exhausted.
     */
    private ByteBuf copyOut(int slotIndex, int lengthBytes) {
        ByteBuf copy;
        try {
            copy = copyAllocator.directBuffer(lengthBytes);
        } catch (OutOfMemoryError e) {
            counters.noMemoryFrames++;
            slots.openReceived(slotIndex, lengthBytes).release();
            return null;
        }
        FrameBuf slot = slots.openReceived(slotIndex, lengthBytes);
        copy.writeBytes(slot);
        slot.release();
        counters.copiedOutFrames++;
        return copy;
    }

    /** Takes back all posted slots after the queues were destroyed. */
    final void releaseAll() {
        queuePairRequests().releaseAll();
        ReceiveRequests workQueueRequests = workQueueRequestsOrNull();
        if (workQueueRequests != null) {
            workQueueRequests.releaseAll();
        }
        ReceiveRequests gsoRequests = gsoRequestsOrNull();
        if (gsoRequests != null) {
            gsoRequests.releaseAll();
        }
    }
}
