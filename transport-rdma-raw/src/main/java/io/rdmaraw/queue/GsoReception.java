package io.rdmaraw.queue;

import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.memory.StrideLayout;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.WorkQueue;
import io.rdmaraw.verbs.softverbs.Softverbs;

/**
 * Functions for the reception of GSO frames: TCP segments in one frame of up to 64 KB. GSO frames come from senders on
 * the same host, which leave segmentation to the device, and from GRO or LRO, which merge received segments. softverbs
 * receives them into a separate {@link WorkQueue}, the <i>GSO queue</i>, with buffers of maximum frame length.
 *
 * <p>Any receiver must expect single segments too. softverbs segments a GSO frame in these cases:
 * <ul>
 * <li>No buffer of the GSO queue is posted, or the frame fills less than half of one.
 * <li>Several rules match, or the rule does not accept GSO frames
 *     ({@link io.rdmaraw.verbs.flow.FlowSpecBuilder#acceptGso}).
 * <li>On {@code soft:packet:}, the checksum was neither left out by the sender nor verified by the kernel. On
 *     {@code soft:xdp:} softverbs verifies it itself.
 * <li>It is in a burst from which softverbs drops unsolicited segments.
 * </ul>
 */
final class GsoReception {
    /** Number of posted receives. It is small so that received data is still in the cache when it is read. */
    static final int DEPTH = 32;
    /** Number of buffers: those that are posted, and those that connections and handlers hold. */
    private static final int BUFFERS = 2 * DEPTH;
    /** If fewer buffers than this would be free after a refill, received frames are copied out. */
    private static final int MIN_FREE_BUFFERS = 8;

    private GsoReception() {
    }

    /**
     * Returns the memory layout of the buffers, which is empty if {@code frameBytes} is 0; see
     * {@link Softverbs#maxGsoBytes}.
     */
    static StrideLayout layout(int frameBytes) {
        return frameBytes == 0 ? new StrideLayout(0, 1, Long.BYTES) : StrideLayout.ofFrames(BUFFERS, frameBytes);
    }

    /**
     * Returns whether arriving GSO frames must be copied to memory outside the pool, because connections and handlers
     * hold too many buffers. Otherwise a few stalled readers could hold all buffers, and the GSO frames of every
     * connection would be segmented. The result is valid for one poll.
     */
    static boolean mustCopyOut(SlotPool slots, ReceiveRequests posted) {
        return slots.availableChunks() - posted.refillDemand() < MIN_FREE_BUFFERS;
    }

    /** Creates the work queue in state RESET and assigns it to a queue pair. */
    static WorkQueue open(SharedDevice device, QueuePair queuePair, CompletionQueue completions) {
        WorkQueue queue = device.context().createWorkQueue(device.protectionDomain(), completions, DEPTH, 1, 0);
        try {
            Softverbs.receiveGso(device.context(), queuePair, queue);
        } catch (RuntimeException e) {
            queue.close();
            throw e;
        }
        return queue;
    }

    /**
     * Lets {@code workQueue}, a work queue of rules that several loops share, receive GSO frames through the GSO
     * queue too. Does nothing without a GSO queue.
     */
    static void assign(VerbsContext context, WorkQueue workQueue, WorkQueue gsoQueueOrNull) {
        if (gsoQueueOrNull != null) {
            Softverbs.receiveGso(context, workQueue, gsoQueueOrNull);
        }
    }
}
