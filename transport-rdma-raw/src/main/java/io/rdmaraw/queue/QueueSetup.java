package io.rdmaraw.queue;

import io.rdmaraw.verbs.objects.CompletionChannel;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.softverbs.Softverbs;

/**
 * The configuration of a frame queue on its device. It stays the same when queues are replaced.
 *
 * @param portNumber        the port
 * @param completionChannel the completion channel of the completion queues
 * @param driver            the driver of direct rings, or null if libibverbs is called
 * @param plan              the memory layout of the striding receive queue, or null if each request receives
 *                          one frame
 * @param compresses        whether the device compresses receive completions
 * @param completionVector  the completion vector; consecutive queues of a device use consecutive vectors
 * @param maxTsoBytes       maximum payload of a TSO send, or 0 without TSO
 * @param maxGsoBytes       maximum length of GSO frames, or 0 if the device does not
 *                          deliver them
 */
public record QueueSetup(SharedDevice device, int portNumber, CompletionChannel completionChannel,
                         FrameQueueOptions options, DirectRingDriver driver,
                         StridingPlan plan, boolean compresses, int completionVector,
                         boolean offloadsChecksums, int maxTsoBytes, int maxGsoBytes) {
    /**
     * libmlx5 has room for the link layer of so many ports ({@code MLX5_MAX_PORTS_NUM}). What it offloads on others,
     * which switchdev mode has, is undefined.
     */
    private static final int MAX_LIBMLX5_PORTS = 2;

    /**
     * Determines the configuration.
     *
     * @throws UnsupportedOperationException if the options require a feature that the device lacks
     */
    static QueueSetup of(SharedDevice device, int portNumber, CompletionChannel completionChannel,
            FrameQueueOptions options) {
        VerbsContext context = device.context();
        DirectRingDriver driver = DirectRingDrivers.of(options.directVerbs(), context);
        StridingPlan plan = StridingPlan.of(options, context, driver);
        boolean compresses = driver != null && options.compressedCompletions()
                && driver.canCompressCompletions(context, plan != null);
        boolean offloads = driver != null || portNumber <= MAX_LIBMLX5_PORTS;
        boolean segments = driver != null || offloads && DirectRingDrivers.verbsSupportsTso(context);
        return new QueueSetup(device, portNumber, completionChannel, options, driver, plan, compresses,
                device.nextCompletionVector(), offloads && device.offloadsChecksums(),
                segments ? device.maxTsoBytes() : 0, Softverbs.maxGsoBytes(context));
    }

    /** Returns the maximum header length of TSO sends, or 0 without TSO. */
    public int maxTsoHeaderBytes() {
        return maxTsoBytes > 0 ? FrameQueue.MAX_TSO_HEADER_BYTES : 0;
    }

    int maxSendRequests() {
        return driver != null ? driver.maxSendRequests(options, maxTsoHeaderBytes()) : options.sendQueueDepth();
    }

    String mode() {
        if (driver == null) {
            return "calls";
        }
        return "rings" + (plan != null ? ", striding receive" : "") + (compresses ? ", compressed completions" : "")
                + (driver.supportsMultiPacketSend(device.context()) ? ", multi-packet requests" : "");
    }

    /** Creates a completion queue for receives, compressed if possible. */
    public CompletionQueue receiveCompletionQueue(int maxCompletions) {
        if (!compresses) {
            return completionQueue(maxCompletions);
        }
        return driver.createCompressedCompletionQueue(device.context(), requestedEntries(maxCompletions),
                completionChannel, completionVector, plan != null);
    }

    CompletionQueue completionQueue(int maxCompletions) {
        return device.context().createCompletionQueue(requestedEntries(maxCompletions), completionChannel,
                completionVector);
    }

    private int requestedEntries(int maxCompletions) {
        return driver != null ? driver.requestedEntries(maxCompletions) : maxCompletions;
    }
}
