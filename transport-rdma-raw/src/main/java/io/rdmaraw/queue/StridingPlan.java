package io.rdmaraw.queue;

import io.rdmaraw.memory.StrideLayout;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.verbs.abi.StridingLimits;
import io.rdmaraw.verbs.objects.VerbsContext;

/**
 * The memory layout of a frame queue with a striding receive queue.
 *
 * @param layout      the part for reception; each request is one chunk
 * @param slotCount   number of slots for sending
 * @param maxRequests maximum number of posted requests; the remaining chunks are for frames that handlers hold
 */
public record StridingPlan(StrideLayout layout, int slotCount, int maxRequests) {
    /** A frame of the usual MTU takes one stride, and the buffer of a short frame has room to grow. */
    private static final int STRIDE_BYTES = 2048;
    /** A request holds as many strides as one poll takes. */
    private static final int MAX_STRIDES_PER_REQUEST = FrameQueue.MAX_BURST_FRAMES;
    /** Minimum number of posted requests. When one is full the device needs the next at once. */
    private static final int MIN_POSTED_REQUESTS = 2;
    /** Minimum number of chunks. Half of them are for frames that handlers hold. */
    private static final int MIN_CHUNKS = 2 * MIN_POSTED_REQUESTS;
    /** Number of chunks if the device permits requests that small. */
    private static final int WANTED_CHUNKS = 8;
    /** Minimum number of slots for sending. */
    private static final int MIN_SLOTS = 4 * FrameQueue.MAX_BURST_FRAMES;

    /**
     * Returns the layout, or null if each request is to receive one frame.
     *
     * @param driver the driver of direct rings, or null if libibverbs is called
     * @throws UnsupportedOperationException if a striding receive queue is required and not available
     */
    static StridingPlan of(FrameQueueOptions options, VerbsContext context, DirectRingDriver driver) {
        if (options.stridingReceive() == StridingReceive.NEVER) {
            return null;
        }
        StridingLimits limits = driver != null ? driver.stridingLimits(context) : null;
        StridingPlan plan = limits == null ? null : within(options, limits);
        if (plan == null && options.stridingReceive() == StridingReceive.REQUIRED) {
            throw new UnsupportedOperationException("striding receive queues are required, but " + unavailability(
                    options, context, driver, limits)
                    + ", or leave the choice to the transport (StridingReceive.AUTO)");
        }
        return plan;
    }

    private static String unavailability(FrameQueueOptions options, VerbsContext context, DirectRingDriver driver,
                                         StridingLimits limits) {
        if (driver == null) {
            return "the rings of " + context.deviceName() + " are not used in place; use a device of "
                    + DirectRingDrivers.driverNames() + " with direct verbs";
        }
        if (limits == null) {
            return context.deviceName() + " does not offer them; use another device";
        }
        return "a request of " + context.deviceName() + " has at least " + limits.minStrides() + " strides of "
                + strideBytes(options, limits) + " bytes, for which there is no room in " + options.slotCount()
                + " slots of " + options.slotBytes() + " bytes; set slotCount higher";
    }

    private static int strideBytes(FrameQueueOptions options, StridingLimits limits) {
        int wanted = Math.min(options.slotBytes(), STRIDE_BYTES);
        return Math.max(limits.minStrideBytes(), Math.min(limits.maxStrideBytes(), wanted));
    }

    /**
     * Computes a layout within the device's limits. It uses half of the memory, or the size of the receive
     * queue if that is larger. Returns null if there is too little memory.
     */
    static StridingPlan within(FrameQueueOptions options, StridingLimits limits) {
        int strideBytes = strideBytes(options, limits);
        int receiveSlots = Math.min(options.slotCount() - MIN_SLOTS,
                Math.max(options.receiveQueueDepth(), options.slotCount() / 2));
        long strides = (long) receiveSlots * options.slotBytes() / strideBytes;
        int stridesPerRequest = (int) Math.min(MAX_STRIDES_PER_REQUEST, Long.highestOneBit(strides / WANTED_CHUNKS));
        // A frame of maximum length must fit into a request.
        stridesPerRequest = Math.max(stridesPerRequest, options.slotBytes() / strideBytes);
        stridesPerRequest = Math.max(limits.minStrides(), Math.min(limits.maxStrides(), stridesPerRequest));
        int chunks = (int) (strides / stridesPerRequest);
        if (chunks < MIN_CHUNKS) {
            return null;
        }
        long posted = (long) options.receiveQueueDepth() * options.slotBytes() / strideBytes / stridesPerRequest;
        int maxRequests = (int) Math.max(MIN_POSTED_REQUESTS, Math.min(posted, chunks * 3L / 4));
        return new StridingPlan(new StrideLayout(chunks, stridesPerRequest, strideBytes),
                options.slotCount() - receiveSlots, maxRequests);
    }

    /**
     * Returns the maximum number of pending completions. Each completion is for at least one stride, or for a
     * failed request.
     */
    int maxCompletions() {
        return maxRequests * (layout.stridesPerChunk() + 1);
    }
}
