package io.rdmaraw.queue;

import io.rdmaraw.verbs.CompletionChannel;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.VerbsContext;
import io.rdmaraw.verbs.softverbs.Softverbs;

/**
 * How a frame queue uses its device. It stays the same when the queues are replaced.
 *
 * @param channel where completion queues let events appear
 * @param rings the device's rings, or null where frames go through the calls of libibverbs
 * @param plan of the striding queue that frames are received by, or null where a receive request is for one frame
 * @param compresses whether the device compresses completions of receives
 * @param completionVector where the queue's completions interrupt; each queue of a device has the next one
 * @param maxSegmentedBytes the longest payload that the device cuts into segments; 0 when it cuts none
 * @param wholeFrameBytes the longest TCP frame beyond the MTU that the device hands over; 0 when it does not
 */
public record QueueSetup(SharedDevice device, CompletionChannel channel, FrameQueueOptions options, DirectRings rings,
                         StridingPlan plan, boolean compresses, int completionVector,
                         int maxSegmentedBytes, int wholeFrameBytes) {
    /** @throws UnsupportedOperationException when the options require what the device does not have */
    static QueueSetup of(SharedDevice device, CompletionChannel channel, FrameQueueOptions options) {
        VerbsContext context = device.context();
        DirectRings rings = DirectRingsRegistry.of(options.directVerbs(), context);
        StridingPlan plan = StridingPlan.of(options, context, rings);
        boolean compresses = rings != null && options.compressedCompletions()
                && rings.canCompressCompletions(context, plan != null);
        boolean segments = rings != null || DirectRingsRegistry.callsCanSegment(context);
        return new QueueSetup(device, channel, options, rings, plan, compresses,
                device.nextCompletionVector(), segments ? device.maxSegmentedBytes() : 0,
                Softverbs.wholeFrameBytes(context));
    }

    /** Returns the longest headers of frames that are cut into segments; 0 when there are none. */
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
                + (rings.sendsSeveralAtOnce(device.context()) ? ", multi-packet requests" : "");
    }

    /** Creates a completion queue for receives. */
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
