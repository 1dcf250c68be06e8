package io.rdmaraw.queue;

import io.rdmaraw.memory.SlotPool;
import io.rdmaraw.memory.StrideLayout;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.VerbsContext;
import io.rdmaraw.verbs.WorkQueue;
import io.rdmaraw.verbs.softverbs.Softverbs;

/**
 * Receiving TCP frames beyond the MTU as they are, where softverbs gets such from senders on the same host: they have a
 * work queue of their own, whose receives are as long as they are. When none is posted the device cuts them.
 */
final class LargeReceives {
    /** How many are posted. Few, so that what was received is in a cache still when it is read. */
    static final int DEPTH = 32;
    /** With those that connections and handlers hold. */
    private static final int FRAMES = 2 * DEPTH;
    /** Frames' room that is left when received ones are copied out of it. */
    private static final int RESERVED = 8;

    private LargeReceives() {
    }

    /** Returns where they lie in a slab; {@code frameBytes}: {@link Softverbs#wholeFrameBytes}. */
    static StrideLayout layout(int frameBytes) {
        return frameBytes == 0 ? new StrideLayout(0, 1, Long.BYTES) : StrideLayout.ofFrames(FRAMES, frameBytes);
    }

    /**
     * Tells whether readers that are slow hold so many that what comes in now has to be copied. Else a few of them
     * would hold all, and the device would cut every connection's frames until they read. To be asked once per poll.
     */
    static boolean mustCopyOut(SlotPool slots, ReceiveRequests posted) {
        return slots.availableChunks() - posted.missing() < RESERVED;
    }

    /** Makes their queue, in RESET, and has those of a queue pair come by it. */
    static WorkQueue open(SharedDevice device, QueuePair queuePair, CompletionQueue completions) {
        WorkQueue queue = device.context().createWorkQueue(device.protectionDomain(), completions, DEPTH, 1, 0);
        try {
            Softverbs.receiveWhole(device.context(), queuePair, queue);
        } catch (RuntimeException e) {
            queue.close();
            throw e;
        }
        return queue;
    }

    /** Has those of a queue that several loops' rules lead to come by it too. */
    static void share(VerbsContext context, WorkQueue shared, WorkQueue largeOrNull) {
        if (largeOrNull != null) {
            Softverbs.receiveWhole(context, shared, largeOrNull);
        }
    }
}
