package io.rdmaraw.queue;

import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.StridingReceive;

/**
 * The sizes of a frame queue.
 *
 * @param receiveQueueDepth frames that can come in between two polls; a power of two
 * @param sendQueueDepth frames that can be with the device; a power of two
 * @param maxSendSge parts that a frame is gathered from at most before it is copied together; at least 2
 * @param slotCount slots of registered memory; more than the receive queue takes, for what handlers hold
 * @param slotBytes bytes of a slot; a power of two that holds the largest frame
 * @param directVerbs whether the rings of mlx5 devices are used in place
 * @param compressedCompletions whether the device compresses completions of received frames where the rings are used
 *        in place and it can
 * @param stridingReceive whether several frames are received in one request; the receive queue's depth is then how many
 *        frames of the longest kind can come in
 */
public record FrameQueueOptions(int receiveQueueDepth, int sendQueueDepth, int maxSendSge, int slotCount,
                                int slotBytes, DirectAccess directVerbs, boolean compressedCompletions,
                                StridingReceive stridingReceive) {
    /** Checks the values against each other. */
    public FrameQueueOptions {
        requirePowerOfTwo("receiveQueueDepth", receiveQueueDepth, FrameQueue.BURST_FRAMES);
        requirePowerOfTwo("sendQueueDepth", sendQueueDepth, FrameQueue.BURST_FRAMES);
        requirePowerOfTwo("slotBytes", slotBytes, 64);
        if (maxSendSge < 2) {
            throw new IllegalArgumentException("maxSendSge must be at least 2, was " + maxSendSge);
        }
        if (slotCount < receiveQueueDepth + 4 * FrameQueue.BURST_FRAMES) {
            throw new IllegalArgumentException("slotCount must be at least receiveQueueDepth + "
                    + 4 * FrameQueue.BURST_FRAMES + " = " + (receiveQueueDepth + 4 * FrameQueue.BURST_FRAMES)
                    + ", was " + slotCount);
        }
    }

    private static void requirePowerOfTwo(String name, int value, int least) {
        if (value < least || Integer.bitCount(value) != 1) {
            throw new IllegalArgumentException(name + " must be a power of two of at least " + least + ", was "
                    + value);
        }
    }
}
