package io.rdmaraw.queue;

import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.QueuePairOptions;
import io.rdmaraw.verbs.SendWr;
import io.rdmaraw.verbs.WorkQueue;
import io.rdmaraw.verbs.abi.Sge;

/**
 * The queue pair of a frame queue, its completion queues, and the memory of its rings.
 *
 * @param padding a slot, of which the first bytes are sent behind frames that are too short
 * @param striding the striding queue that frames are received by, or null
 * @param large the queue for TCP frames beyond the MTU, or null
 * @param arrays native memory for the requests and completions of both rings
 */
public record QueuePairResources(QueueSetup setup, SlotPool slots, FrameBuf padding, QueueCounters counters,
                                 CompletionQueue receiveCompletions, CompletionQueue sendCompletions,
                                 QueuePair queuePair, StridingQueuePair striding, WorkQueue large,
                                 NativeArena arrays)
        implements AutoCloseable {
    /** Makes them, the queue pair in the state of RESET. */
    static QueuePairResources open(QueueSetup setup, SlotPool slots, FrameBuf padding, QueueCounters counters) {
        FrameQueueOptions options = setup.options();
        StridingPlan plan = setup.plan();
        CompletionQueue receives = null;
        CompletionQueue sends = null;
        QueuePair queuePair = null;
        StridingQueuePair striding = null;
        WorkQueue large = null;
        boolean takesLarge = setup.wholeFrameBytes() > 0;
        try {
            // Twice the depth: the queue pair's receives complete here, and those of the work queues.
            receives = setup.receiveCompletionQueue(plan != null ? plan.maxCompletions()
                    : 2 * options.receiveQueueDepth() + (takesLarge ? LargeReceives.DEPTH : 0));
            sends = setup.completionQueue(options.sendQueueDepth());
            queuePair = setup.device().protectionDomain().createQueuePair(QueuePairOptions.builder()
                    .sendCompletionQueue(sends)
                    .receiveCompletionQueue(receives)
                    .maxSendWr(setup.maxSendRequests())
                    .maxReceiveWr(plan != null ? 0 : options.receiveQueueDepth())
                    .maxSendSge(options.maxSendSge())
                    .maxReceiveSge(1)
                    .maxTsoHeaderBytes(setup.maxHeaderBytes())
                    .build());
            if (plan != null) {
                striding = StridingQueuePair.open(setup, receives);
            }
            if (takesLarge) {
                large = LargeReceives.open(setup.device(), queuePair, receives);
            }
            // Burst arrays of both rings, with room for the rounding to cache lines.
            return new QueuePairResources(setup, slots, padding, counters, receives, sends, queuePair, striding, large,
                    new NativeArena(FrameQueue.BURST_FRAMES
                            * (SendWr.SIZE_BYTES + options.maxSendSge() * Sge.SIZE_BYTES + 256L)
                            + 3 * VerbsReceiveRequests.nativeBytes()));
        } catch (RuntimeException | Error e) {
            closeAll(striding, queuePair, large, sends, receives);
            throw e;
        }
    }

    ReceiveRing receiveRing() {
        return setup.rings() != null ? setup.rings().receiveRing(this) : new VerbsReceiveRing(this);
    }

    SendRing sendRing() {
        return setup.rings() != null ? setup.rings().sendRing(this) : new VerbsSendRing(this);
    }

    /** Closes what is open; frames in flight may be released then. */
    @Override
    public void close() {
        closeAll(striding, queuePair, large, sendCompletions, receiveCompletions, arrays);
    }

    static void closeAll(AutoCloseable... resources) {
        for (AutoCloseable resource : resources) {
            try {
                if (resource != null) {
                    resource.close();
                }
            } catch (RuntimeException e) {
                throw e;
            } catch (Exception e) {
                throw new IllegalStateException("could not close a queue", e);
            }
        }
    }
}
