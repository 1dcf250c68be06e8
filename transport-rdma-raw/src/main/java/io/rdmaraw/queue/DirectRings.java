package io.rdmaraw.queue;

import io.rdmaraw.verbs.abi.StridingLimits;
import io.rdmaraw.verbs.objects.CompletionChannel;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.WorkQueue;

/**
 * Direct access to the rings of one vendor's devices, instead of through libibverbs.
 *
 * <p>Implementations are stateless services, declared both in {@code module-info.java} and in
 * {@code META-INF/services}. The optional features (compressed completions, striding receive, multi-packet
 * requests) have defaults for devices without them.
 */
public interface DirectRings {
    /** Returns the name of the driver for messages, for example {@code mlx5}. */
    String devices();

    /** Returns why the rings of this device cannot be accessed directly, or null if they can. */
    String unavailability(VerbsContext context);

    /** Returns whether TSO sends posted through libibverbs work on this device. */
    default boolean callsCanSegment(VerbsContext context) {
        return true;
    }

    /**
     * Registers a queue pair that sends through libibverbs. Rings of this process that share its doorbell register
     * must then not write whole requests to the register (BlueFlame). The driver's lock does not cover these
     * rings, and two concurrent writes would be mixed.
     *
     * @return an action to run once, after the queue pair has been destroyed
     */
    default Runnable noteCalls(VerbsContext context, QueuePair queuePair) {
        return () -> { };
    }

    /** Returns whether one work request can send several frames. */
    default boolean sendsSeveralAtOnce(VerbsContext context) {
        return false;
    }

    /**
     * Returns whether the device can compress receive completions.
     *
     * @param striding whether the completions are those of a striding receive queue
     */
    default boolean canCompressCompletions(VerbsContext context, boolean striding) {
        return false;
    }

    /**
     * Returns the size of the send ring, as a number of work requests of maximum length. The default is
     * {@code sendQueueDepth}. Drivers should return less, because most frames need only a fraction of such a
     * request: a ring of the default size would exceed the cache, and every send would evict other data.
     */
    default int maxSendRequests(FrameQueueOptions options, int maxHeaderBytes) {
        return options.sendQueueDepth();
    }

    /**
     * Creates a completion queue with completions compressed by the device. Requires
     * {@link #canCompressCompletions}.
     */
    default CompletionQueue createCompressed(VerbsContext context, int minEntries, CompletionChannel channel,
            int completionVector, boolean striding) {
        throw new UnsupportedOperationException(context.deviceName() + " cannot compress completions");
    }

    /** Returns the size limits of striding receive queues, or null if the device has none. */
    default StridingLimits stridingLimits(VerbsContext context) {
        return null;
    }

    /** Creates a striding receive queue. The plan must be within {@link #stridingLimits}. */
    default WorkQueue createStriding(SharedDevice device, CompletionQueue completions, StridingPlan plan) {
        throw new UnsupportedOperationException(device.name() + " has no striding receive queues");
    }

    /** Creates the receive ring of a frame queue. It uses the striding receive queue if there is one. */
    ReceiveRing receiveRing(QueuePairResources queues);

    /** Creates the send ring of a frame queue. */
    SendRing sendRing(QueuePairResources queues);
}
