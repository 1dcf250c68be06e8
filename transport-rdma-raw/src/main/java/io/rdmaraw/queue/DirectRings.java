package io.rdmaraw.queue;

import io.rdmaraw.verbs.CompletionChannel;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.abi.StridingLimits;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.VerbsContext;
import io.rdmaraw.verbs.WorkQueue;

/**
 * The rings of one vendor's devices, which are written and read in place instead of by calls of libibverbs.
 *
 * <p>An implementation is a service: {@code module-info.java} provides it, and so does {@code META-INF/services} for
 * the class path. It has no state. The optional parts (compressed completions, striding receive) have defaults for
 * devices without them.
 */
public interface DirectRings {
    /** Returns how messages name the devices, for example {@code mlx5}. */
    String devices();

    /** Returns why the rings of this device cannot be used in place, or null when they can be. */
    String unavailability(VerbsContext context);

    /** Returns whether the calls of libibverbs can send payloads that this device cuts into segments. */
    default boolean callsCanSegment(VerbsContext context) {
        return true;
    }

    /**
     * Takes note of a queue pair that the calls of libibverbs send by: they may write to a register of the device that
     * rings of this process are written to as well.
     *
     * @return to be run once, when the queue pair has been destroyed
     */
    default Runnable noteCalls(VerbsContext context, QueuePair queuePair) {
        return () -> { };
    }

    /** Returns whether frames that are sent together share requests. */
    default boolean sendsSeveralAtOnce(VerbsContext context) {
        return false;
    }

    /**
     * Returns whether the device can compress the completions of receives.
     *
     * @param striding whether those of a striding queue
     */
    default boolean canCompressCompletions(VerbsContext context, boolean striding) {
        return false;
    }

    /**
     * Returns how many requests of the longest kind the send ring has to hold. Most frames take a small part of that:
     * a ring for as many of the longest as can be in flight is walked through from end to end and drives other memory
     * out of the cache.
     */
    default int maxSendRequests(FrameQueueOptions options, int maxHeaderBytes) {
        return options.sendQueueDepth();
    }

    /** Creates a completion queue in which the device compresses completions, if {@link #canCompressCompletions}. */
    default CompletionQueue createCompressed(VerbsContext context, int minEntries, CompletionChannel channel,
            int completionVector, boolean striding) {
        throw new UnsupportedOperationException(context.deviceName() + " compresses no completions");
    }

    /** Returns the sizes of the device's striding receive queues, or null when it has none. */
    default StridingLimits stridingLimits(VerbsContext context) {
        return null;
    }

    /** Creates a striding receive queue within {@link #stridingLimits}. */
    default WorkQueue createStriding(SharedDevice device, CompletionQueue completions, StridingPlan plan) {
        throw new UnsupportedOperationException(device.name() + " has no striding receive queues");
    }

    /** Returns the receiving half of a frame queue on these queues, by its striding queue if it has one. */
    ReceiveRing receiveRing(QueuePairResources queues);

    /** Returns the sending half of a frame queue on these queues. */
    SendRing sendRing(QueuePairResources queues);
}
