package io.rdmaraw.tools.perf;

/**
 * Decides when a receiver has got everything, if it does not know how much is sent: when nothing has arrived for a
 * while. The while is shorter if the sender is known to have ended. Never reads the clock; callers pass the current
 * time. Used by one thread.
 */
final class IdleEnd {
    static final long IDLE_NANOS = 1_000_000_000L;
    static final long IDLE_AT_END_NANOS = 200_000_000L;

    private boolean counting;
    private long sinceNanos;

    /** Called when something has arrived. */
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
