package io.rdmaraw.queue;

import io.rdmaraw.verbs.abi.StridingLimits;
import io.rdmaraw.verbs.objects.CompletionChannel;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.WorkQueue;

/**
 * Direct access to the rings of one vendor's devices. A frame queue then writes work requests and reads completions in
 * the device's memory, without calls of libibverbs.
 *
 * <p>Implementations are stateless services, declared both in {@code module-info.java} and in
 * {@code META-INF/services}. The optional features (compressed completions, striding receive, multi-packet
 * requests) have defaults for devices without them.
 */
public interface DirectRingDriver {
    /** Returns the name of the driver for messages, for example {@code mlx5}. */
    String driverName();

    /** Returns why the rings of this device cannot be accessed directly, or null if they can. */
    String unavailability(VerbsContext context);

    /**
     * Returns whether TSO sends posted through libibverbs work on this device. Some vendors' libraries have defects. If
     * the device belongs to another vendor, returns true.
     */
    default boolean verbsSupportsTso(VerbsContext context) {
        return true;
    }

    /**
     * Records that a queue pair sends through libibverbs. The vendor's library may give this queue pair the same
     * doorbell register as a send ring of this class. The library's lock does not protect the register against such a
     * ring. A ring that shares a register therefore writes doorbells only, and no whole requests (BlueFlame): the
     * device would see a mixture of two requests. Does nothing if the device belongs to another vendor.
     *
     * @return an action to run once, after the queue pair has been destroyed. It ends the restriction
     */
    default Runnable registerVerbsSender(VerbsContext context, QueuePair queuePair) {
        return () -> { };
    }

    /** Returns whether one work request can send several frames. */
    default boolean supportsMultiPacketSend(VerbsContext context) {
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
     * Returns the size of the send ring, as a number of work requests of maximum length. The default,
     * {@code sendQueueDepth}, has room for that many frames of any form. Most frames need only a fraction of such a
     * request, so implementations should return less: a ring of the default size may exceed the cache, and every
     * send would evict other data.
     */
    default int maxSendRequests(FrameQueueOptions options, int maxTsoHeaderBytes) {
        return options.sendQueueDepth();
    }

    /**
     * Returns the number of entries to request for a completion queue. The default is the maximum number of pending
     * completions. A driver whose library rounds the number up requests less if the result is still large enough.
     */
    default int requestedEntries(int maxCompletions) {
        return maxCompletions;
    }

    /**
     * Creates a completion queue with completions compressed by the device. Requires
     * {@link #canCompressCompletions}.
     */
    default CompletionQueue createCompressedCompletionQueue(VerbsContext context, int minEntries,
            CompletionChannel completionChannel, int completionVector, boolean striding) {
        throw new UnsupportedOperationException(context.deviceName() + " cannot compress completions");
    }

    /** Returns the size limits of striding receive queues, or null if the device has none. */
    default StridingLimits stridingLimits(VerbsContext context) {
        return null;
    }

    /** Creates a striding receive queue. The plan must be within {@link #stridingLimits}. */
    default WorkQueue createStridingWorkQueue(SharedDevice device, CompletionQueue completions, StridingPlan plan) {
        throw new UnsupportedOperationException(device.name() + " has no striding receive queues");
    }

    /** Creates the receive ring of a frame queue. It uses the striding receive queue if there is one. */
    ReceiveRing createReceiveRing(QueuePairResources queues);

    /** Creates the send ring of a frame queue. */
    SendRing createSendRing(QueuePairResources queues);
}
