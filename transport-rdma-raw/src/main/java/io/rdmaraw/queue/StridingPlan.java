package io.rdmaraw.queue;

import io.rdmaraw.memory.StrideLayout;
import io.rdmaraw.verbs.abi.StridingLimits;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.verbs.VerbsContext;

/**
 * How the memory of a frame queue is divided where it receives by a striding queue.
 *
 * @param layout the part that frames are received in; a chunk is a request
 * @param slotCount the slots beside it, which frames are sent from
 * @param maxRequests how many requests are posted at most; the other chunks are for what handlers hold
 */
public record StridingPlan(StrideLayout layout, int slotCount, int maxRequests) {
    /** So that frames of the usual MTU take one stride, and the buffer of a short one has room to grow. */
    private static final int STRIDE_BYTES = 2048;
    /** As many as are taken in one poll. */
    private static final int STRIDES_PER_REQUEST = FrameQueue.BURST_FRAMES;
    /** One is filled, and the device needs the next at once. */
    private static final int LEAST_POSTED = 2;
    /** As many again for what handlers hold. */
    private static final int LEAST_CHUNKS = 2 * LEAST_POSTED;
    /** Where the device does not want longer requests. */
    private static final int WANTED_CHUNKS = 8;
    /** Slots that sending needs at least. */
    private static final int LEAST_SLOTS = 4 * FrameQueue.BURST_FRAMES;

    /**
     * Returns the plan, or null where each request is to be for one frame.
     *
     * @param rings the device's rings, or null where frames go through the calls of libibverbs
     * @throws UnsupportedOperationException when a striding queue is required and cannot be had
     */
    static StridingPlan of(FrameQueueOptions options, VerbsContext context, DirectRings rings) {
        if (options.stridingReceive() == StridingReceive.NEVER) {
            return null;
        }
        StridingLimits limits = rings != null ? rings.stridingLimits(context) : null;
        StridingPlan plan = limits == null ? null : within(options, limits);
        if (plan == null && options.stridingReceive() == StridingReceive.REQUIRED) {
            throw new UnsupportedOperationException("striding receive queues are required, but " + unavailability(
                    options, context, rings, limits)
                    + ", or leave the choice to the transport (StridingReceive.AUTO)");
        }
        return plan;
    }

    private static String unavailability(FrameQueueOptions options, VerbsContext context, DirectRings rings,
                                         StridingLimits limits) {
        if (rings == null) {
            return "the rings of " + context.deviceName() + " are not used in place; use a device of "
                    + DirectRingsRegistry.devices() + " with direct verbs";
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

    /** Half of the memory, or what the receive queue takes, if that is more; null when it is too little. */
    static StridingPlan within(FrameQueueOptions options, StridingLimits limits) {
        int strideBytes = strideBytes(options, limits);
        int areaSlots = Math.min(options.slotCount() - LEAST_SLOTS,
                Math.max(options.receiveQueueDepth(), options.slotCount() / 2));
        long strides = (long) areaSlots * options.slotBytes() / strideBytes;
        int perRequest = (int) Math.min(STRIDES_PER_REQUEST, Long.highestOneBit(strides / WANTED_CHUNKS));
        // A frame of the longest kind must find room in a request.
        perRequest = Math.max(perRequest, options.slotBytes() / strideBytes);
        perRequest = Math.max(limits.minStrides(), Math.min(limits.maxStrides(), perRequest));
        int chunks = (int) (strides / perRequest);
        if (chunks < LEAST_CHUNKS) {
            return null;
        }
        long posted = (long) options.receiveQueueDepth() * options.slotBytes() / strideBytes / perRequest;
        int maxRequests = (int) Math.max(LEAST_POSTED, Math.min(posted, chunks * 3L / 4));
        return new StridingPlan(new StrideLayout(chunks, perRequest, strideBytes), options.slotCount() - areaSlots,
                maxRequests);
    }

    /** Returns how many completions can wait at most: each is of a stride or more, or of a request that failed. */
    int maxCompletions() {
        return maxRequests * (layout.stridesPerChunk() + 1);
    }
}
