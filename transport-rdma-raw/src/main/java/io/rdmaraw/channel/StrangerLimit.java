package io.rdmaraw.channel;

import io.rdmaraw.queue.FrameQueue;

/**
 * How many strangers a stack answers after a burst: everyone, as long as the loop keeps up with what comes in. When
 * burst after burst is full, frames wait in the receive queue, and soon the device drops some, those of connections as
 * well as a flood's. An answer costs a frame to send; to drop a SYN costs next to nothing. So fewer are answered then,
 * and more again as soon as a burst is not full. For the loop's thread.
 */
final class StrangerLimit {
    static final int MOST = 256;
    static final int LEAST = 2;
    /** Not all frames of a poll are of this stack. */
    private static final int FULL_FRAMES = FrameQueue.BURST_FRAMES * 7 / 8;
    /** A sleep that was a little too long brings a few. */
    private static final int PATIENCE_BURSTS = 4;

    private int answers = MOST;
    private int fullBursts;

    /**
     * A burst has been received.
     *
     * @return how many strangers may be answered after the next
     */
    int after(int frames) {
        if (frames < FULL_FRAMES) {
            fullBursts = 0;
            answers = Math.min(MOST, 2 * answers);
        } else if (++fullBursts == PATIENCE_BURSTS) {
            fullBursts = 0;
            answers = Math.max(LEAST, Math.min(answers, FrameQueue.BURST_FRAMES) / 2);
        }
        return answers;
    }
}
