package io.rdmaraw.tools.pktgen;

/** Sends frames at the intervals at which they were captured, divided by a speed. Repeats the sequence. */
final class ReplayPace implements Pace {
    private final long[] offsetsNanos;
    private final long roundNanos;
    private final double speed;
    private final long startNanos;
    private long sentFrames;

    /**
     * Creates the pace.
     *
     * @param timestampsNanos capture times of the frames, in the order in which they are sent
     * @param speed           factor of the speed; 2 is twice as fast as captured
     */
    ReplayPace(long[] timestampsNanos, double speed, long nowNanos) {
        this.speed = speed;
        startNanos = nowNanos;
        offsetsNanos = new long[timestampsNanos.length];
        long latest = 0;
        for (int i = 0; i < timestampsNanos.length; i++) {
            // If the clock was set back during the capture, the frames still keep their order.
            latest = Math.max(latest, timestampsNanos[i] - timestampsNanos[0]);
            offsetsNanos[i] = latest;
        }
        // The next round starts after the mean interval between two frames.
        roundNanos = latest + (offsetsNanos.length > 1 ? latest / (offsetsNanos.length - 1) : 0);
    }

    private long dueNanos() {
        long offset = sentFrames / offsetsNanos.length * roundNanos
                + offsetsNanos[(int) (sentFrames % offsetsNanos.length)];
        return startNanos + (long) (offset / speed);
    }

    @Override
    public boolean maySend(long nowNanos, int frameBytes) {
        return dueNanos() - nowNanos <= 0;
    }

    @Override
    public void recordSent(int frameBytes) {
        sentFrames++;
    }

    @Override
    public long nanosUntilNext(long nowNanos) {
        return Math.max(0, dueNanos() - nowNanos);
    }
}
