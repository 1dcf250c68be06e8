package io.rdmaraw.tools.perf;

/**
 * Detects the end of a run for a receiver that does not know how many frames are sent. The run ends when nothing has
 * arrived for {@link #IDLE_NANOS}. If the sender announces its end, the run ends when nothing has arrived for
 * {@link #IDLE_AT_END_NANOS} since then. Callers pass the current time. Used by one thread.
 */
final class IdleEnd {
    static final long IDLE_NANOS = 1_000_000_000L;
    static final long IDLE_AT_END_NANOS = 200_000_000L;

    private boolean counting;
    private boolean isEnding;
    private long sinceNanos;

    /** Records that frames have arrived. */
    void received(long nowNanos) {
        counting = true;
        sinceNanos = nowNanos;
    }

    /**
     * Returns whether the run has ended. The wait starts again when the announcement is noticed: the sender may have
     * paused for long before its last frames, which the caller has not polled yet.
     *
     * @param announced whether the sender has announced its end, so that only frames in flight can still arrive
     */
    boolean isOver(long nowNanos, boolean announced) {
        if (announced && !isEnding) {
            isEnding = true;
            received(nowNanos);
        }
        return counting && nowNanos - sinceNanos > (announced ? IDLE_AT_END_NANOS : IDLE_NANOS);
    }
}
