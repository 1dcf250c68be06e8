package io.rdmaraw.queue;

import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.QueuePairOptions;
import io.rdmaraw.verbs.SendWr;
import io.rdmaraw.verbs.abi.Sge;

/**
 * The queue pair of a frame queue, its completion queues, and the memory of its rings.
 *
 * @param padding a slot, of which the first bytes are sent behind frames that are too short
 * @param striding the striding queue that frames are received by, or null
 * @param arrays native memory for the requests and completions of both rings
 */
public record QueuePairResources(QueueSetup setup, SlotPool slots, FrameBuf padding, QueueCounters counters,
                                 CompletionQueue receiveCompletions, CompletionQueue sendCompletions,
                                 QueuePair queuePair, StridingQueuePair striding, NativeArena arrays)
        implements AutoCloseable {
    /** Makes them, the queue pair in the state of RESET. */
    static QueuePairResources open(QueueSetup setup, SlotPool slots, FrameBuf padding, QueueCounters counters) {
        FrameQueueOptions options = setup.options();
        StridingPlan plan = setup.plan();
        CompletionQueue receives = null;
        CompletionQueue sends = null;
        QueuePair queuePair = null;
        StridingQueuePair striding = null;
        try {
            // Twice the depth: the queue pair's receives complete here, and those of the work queue.
            receives = setup.receiveCompletionQueue(plan != null ? plan.maxCompletions()
                    : 2 * options.receiveQueueDepth());
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
            // Burst arrays of both rings, with room for the rounding to cache lines.
            return new QueuePairResources(setup, slots, padding, counters, receives, sends, queuePair, striding,
                    new NativeArena(FrameQueue.BURST_FRAMES
                            * (SendWr.SIZE_BYTES + options.maxSendSge() * Sge.SIZE_BYTES + 256L)
                            + 2 * VerbsReceiveRequests.nativeBytes()));
        } catch (RuntimeException | Error e) {
            closeAll(striding, queuePair, sends, receives);
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
        closeAll(striding, queuePair, sendCompletions, receiveCompletions, arrays);
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
