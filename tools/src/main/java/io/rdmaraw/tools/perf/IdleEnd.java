package io.rdmaraw.tools.perf;

/**
 * When a receiver that is not told how much is to come has got all of it: when nothing has come for a while. That while
 * is shorter when the sender is known to have ended. Time is given, never taken. One thread.
 */
final class IdleEnd {
    static final long IDLE_NANOS = 1_000_000_000L;
    static final long IDLE_AT_END_NANOS = 200_000_000L;

    private boolean counting;
    private long sinceNanos;

    /** Something has come. */
    void received(long nowNanos) {
        counting = true;
        sinceNanos = nowNanos;
    }

    /**
     * @param announced whether nothing more is sent: what is under way comes soon or not at all, or nothing ever came
     */
    boolean isOver(long nowNanos, boolean announced) {
        if (!counting) {
            if (announced) {
                received(nowNanos);
            }
            return false;
        }
        return nowNanos - sinceNanos > (announced ? IDLE_AT_END_NANOS : IDLE_NANOS);
    }
}
