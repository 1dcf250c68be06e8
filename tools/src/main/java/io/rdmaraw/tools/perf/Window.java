package io.rdmaraw.tools.perf;

import java.util.function.LongSupplier;

/**
 * Limits the frames in flight to the receive buffers of the other side if both sides run in one process. Lost frames
 * leave the window after {@link #GIVE_UP_NANOS}, so that a loss does not stop the run. Used by one thread.
 */
final class Window {
    private static final long GIVE_UP_NANOS = 500_000_000;

    private final LongSupplier arrived;
    private final long frames;
    private long givenUp;
    private long lastArrived;
    private long lastProgressNanos;

    /**
     * Creates a window.
     *
     * @param arrived returns the number of frames received by the other side since the start
     * @param frames  maximum number of frames in flight
     */
    Window(LongSupplier arrived, long frames) {
        this.arrived = arrived;
        this.frames = frames;
    }

    /** Returns a window without a limit. */
    static Window open() {
        return new Window(() -> 0, Long.MAX_VALUE);
    }

    /**
     * Returns how many more frames may be sent.
     *
     * @param sent number of frames sent since the start
     */
    long room(long sent, long nowNanos) {
        if (frames == Long.MAX_VALUE) {
            return frames;
        }
        long now = arrived.getAsLong();
        if (now != lastArrived) {
            lastArrived = now;
            lastProgressNanos = nowNanos;
        } else if (sent - now - givenUp >= frames && nowNanos - lastProgressNanos > GIVE_UP_NANOS) {
            givenUp = sent - now;
            lastProgressNanos = nowNanos;
        }
        return frames - (sent - now - givenUp);
    }
}
