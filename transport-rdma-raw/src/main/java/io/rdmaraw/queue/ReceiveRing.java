package io.rdmaraw.queue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.VerbsObject;
import io.rdmaraw.verbs.WorkQueue;

/**
 * The receiving half of a {@link VerbsFrameQueue}: keeps the receive queues filled with free slots, and opens the slots
 * that the device has written to. How completions are polled is the subclass's concern.
 *
 * <p>A handler that keeps frames takes slots away. When few are left, frames are copied out to other memory and their
 * slots posted again: the receive queue neither runs dry nor stalls the loop, and the copies are counted.
 */
public abstract class ReceiveRing {
    /**
     * Free slots below which received frames are copied out. What remains serves frames that have to be copied on
     * sending, so that a handler that keeps frames cannot stop the sending either.
     */
    static final int RESERVED_SLOTS = 2 * FrameQueue.BURST_FRAMES;

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

    /** Returns the receives of the queue pair itself. */
    protected abstract ReceiveRequests own();

    /** Returns the receives of the work queue, or null when there is none. */
    protected abstract ReceiveRequests sharedOrNull();

    /** Returns the receives of frames beyond the MTU, or null when there are none. */
    protected ReceiveRequests largeOrNull() {
        return null;
    }

    /** Returns where a work queue has to complete that {@link #addShared} is to be given. */
    protected abstract CompletionQueue sharedCompletions();

    /** Receives from this work queue too. */
    protected abstract void addShared(WorkQueue workQueue, int depth);

    /** Polls at most a burst of completions; returns how many there were. Those of frames go to {@link #deliver}. */
    protected abstract int poll(ReceiveBurst burst);

    /** Asks for an event for the next completion. */
    protected abstract void arm();

    /** Tells whether an asynchronous event's source is one of this ring's completion queues. */
    protected abstract boolean owns(VerbsObject source);

    /** Closes the completion queues; the queues that complete there are closed. */
    protected abstract void closeCompletions();

    final boolean failed() {
        return own().failed() || hasFailed(sharedOrNull()) || hasFailed(largeOrNull());
    }

    private static boolean hasFailed(ReceiveRequests requests) {
        return requests != null && requests.failed();
    }

    final int receive(ReceiveBurst burst) {
        burst.begin(slots);
        counters.receivePolls++;
        if (poll(burst) == 0) {
            counters.emptyReceivePolls++;
        } else {
            counters.receivedFrames += burst.size();
            counters.receivedBytes += burst.fetchHeaders();
        }
        own().refillIfLow();
        ReceiveRequests shared = sharedOrNull();
        if (shared != null) {
            shared.refillIfLow();
        }
        ReceiveRequests large = largeOrNull();
        if (large != null) {
            large.refillIfLow();
        }
        return burst.size();
    }

    /** Tells whether slots are so short that what comes in now has to be copied. To be asked once per poll. */
    protected boolean mustCopyOut() {
        ReceiveRequests shared = sharedOrNull();
        int owed = own().missing() + (shared != null ? shared.missing() : 0);
        return slots.available() - owed < copyOutBelow;
    }

    /** Adds a frame to the burst. */
    protected final void deliver(ReceiveBurst burst, int slotIndex, int lengthBytes, int flowTag,
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

    /** Returns null when handlers hold so much that there is no memory for another frame, which is dropped. */
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

    /** Takes all posted slots back: the queues were destroyed. */
    final void abandon() {
        own().abandon();
        ReceiveRequests shared = sharedOrNull();
        if (shared != null) {
            shared.abandon();
        }
        ReceiveRequests large = largeOrNull();
        if (large != null) {
            large.abandon();
        }
    }
}
