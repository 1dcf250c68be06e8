package io.rdmaraw.queue;

import io.rdmaraw.verbs.objects.CompletionChannel;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.softverbs.Softverbs;

/**
 * The configuration of a frame queue on its device. It stays the same when queues are replaced.
 *
 * @param channel           the completion channel of the completion queues
 * @param rings             the direct rings, or null if libibverbs is called
 * @param plan              the memory layout of the striding receive queue, or null if each request receives
 *                          one frame
 * @param compresses        whether the device compresses receive completions
 * @param completionVector  the completion vector; consecutive queues of a device use consecutive vectors
 * @param maxSegmentedBytes maximum payload of a TSO send, or 0 without TSO
 * @param wholeFrameBytes   maximum length of TCP packets larger than the MTU, or 0 if the device does not
 *                          deliver such packets
 */
public record QueueSetup(SharedDevice device, CompletionChannel channel, FrameQueueOptions options, DirectRings rings,
                         StridingPlan plan, boolean compresses, int completionVector,
                         int maxSegmentedBytes, int wholeFrameBytes) {
    /**
     * Determines the configuration.
     *
     * @throws UnsupportedOperationException if the options require a feature that the device lacks
     */
    static QueueSetup of(SharedDevice device, CompletionChannel channel, FrameQueueOptions options) {
        VerbsContext context = device.context();
        DirectRings rings = DirectRingsRegistry.of(options.directVerbs(), context);
        StridingPlan plan = StridingPlan.of(options, context, rings);
        boolean compresses = rings != null && options.compressedCompletions()
                && rings.canCompressCompletions(context, plan != null);
        boolean segments = rings != null || DirectRingsRegistry.verbsSupportsTso(context);
        return new QueueSetup(device, channel, options, rings, plan, compresses,
                device.nextCompletionVector(), segments ? device.maxSegmentedBytes() : 0,
                Softverbs.wholeFrameBytes(context));
    }

    /** Returns the maximum header length of TSO sends, or 0 without TSO. */
    public int maxHeaderBytes() {
        return maxSegmentedBytes > 0 ? FrameQueue.MAX_SEGMENTED_HEADER_BYTES : 0;
    }

    int maxSendRequests() {
        return rings != null ? rings.maxSendRequests(options, maxHeaderBytes()) : options.sendQueueDepth();
    }

    String mode() {
        if (rings == null) {
            return "calls";
        }
        return "rings" + (plan != null ? ", striding receive" : "") + (compresses ? ", compressed completions" : "")
                + (rings.supportsMultiPacketSend(device.context()) ? ", multi-packet requests" : "");
    }

    /** Creates a completion queue for receives, compressed if possible. */
    public CompletionQueue receiveCompletionQueue(int minEntries) {
        if (!compresses) {
            return completionQueue(minEntries);
        }
        return rings.createCompressed(device.context(), minEntries, channel, completionVector, plan != null);
    }

    CompletionQueue completionQueue(int minEntries) {
        return device.context().createCompletionQueue(minEntries, channel, completionVector);
    }
}
