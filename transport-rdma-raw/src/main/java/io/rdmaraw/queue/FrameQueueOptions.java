package io.rdmaraw.queue;

import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.StridingReceive;

/**
 * The sizes and options of a frame queue.
 *
 * @param receiveQueueDepth     number of frames that can arrive between two polls; a power of two
 * @param sendQueueDepth        maximum number of frames in flight; a power of two
 * @param maxSendSge            maximum number of SGEs of a sent frame, at least 2; frames with more parts are
 *                              copied
 * @param slotCount             number of slots of registered memory; must exceed the receive queue depth, since
 *                              handlers also hold slots
 * @param slotBytes             size of a slot; a power of two that holds the largest frame
 * @param directVerbs           whether the rings of the device are accessed directly
 * @param compressedCompletions whether the device compresses receive completions, if it can and direct rings
 *                              are used
 * @param stridingReceive       whether one request receives several frames; the receive queue depth is then the
 *                              number of frames of maximum length
 */
public record FrameQueueOptions(int receiveQueueDepth, int sendQueueDepth, int maxSendSge, int slotCount,
                                int slotBytes, DirectAccess directVerbs, boolean compressedCompletions,
                                StridingReceive stridingReceive) {
    /**
     * Validates the sizes.
     *
     * @throws IllegalArgumentException if a size is out of range
     */
    public FrameQueueOptions {
        requirePowerOfTwo("receiveQueueDepth", receiveQueueDepth, FrameQueue.MAX_BURST_FRAMES);
        requirePowerOfTwo("sendQueueDepth", sendQueueDepth, FrameQueue.MAX_BURST_FRAMES);
        requirePowerOfTwo("slotBytes", slotBytes, 64);
        if (maxSendSge < 2) {
            throw new IllegalArgumentException("maxSendSge must be at least 2, was " + maxSendSge);
        }
        if (slotCount < receiveQueueDepth + 4 * FrameQueue.MAX_BURST_FRAMES) {
            throw new IllegalArgumentException("slotCount must be at least receiveQueueDepth + "
                    + 4 * FrameQueue.MAX_BURST_FRAMES + " = " + (receiveQueueDepth + 4 * FrameQueue.MAX_BURST_FRAMES)
                    + ", was " + slotCount);
        }
    }

    /**
     * Returns the depth of the work queue for rules shared by several loops. It uses the slots that the receive queue
     * leaves.
     *
     * @throws IllegalStateException if too few slots are left
     */
    int workQueueDepth() {
        int depth = Math.min(receiveQueueDepth, slotCount - receiveQueueDepth - 4 * FrameQueue.MAX_BURST_FRAMES);
        if (depth < FrameQueue.MAX_BURST_FRAMES) {
            throw new IllegalStateException("a port that several loops share needs additional slots: set slotCount"
                    + " to at least " + (receiveQueueDepth + 5 * FrameQueue.MAX_BURST_FRAMES) + ", was " + slotCount);
        }
        return depth;
    }

    private static void requirePowerOfTwo(String name, int value, int min) {
        if (value < min || Integer.bitCount(value) != 1) {
            throw new IllegalArgumentException(name + " must be a power of two of at least " + min + ", was "
                    + value);
        }
    }
}
