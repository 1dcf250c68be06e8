package io.rdmaraw.tools.pktgen;

/** Decides when the next frame may be sent. Callers pass the current time. Used by one thread. */
interface Pace {
    /** Returns whether a frame of this length may be sent now. */
    boolean maySend(long nowNanos, int frameBytes);

    /** Records that a frame has been sent. */
    void recordSent(int frameBytes);

    /** Returns the nanoseconds until the next frame may be sent; 0 if it may be sent now. */
    long nanosUntilNext(long nowNanos);

    /** Returns a pace without a limit. */
    static Pace unlimited() {
        return new Pace() {
            @Override
            public boolean maySend(long nowNanos, int frameBytes) {
                return true;
            }

            @Override
            public void recordSent(int frameBytes) {
                // An unlimited pace keeps no state.
            }

            @Override
            public long nanosUntilNext(long nowNanos) {
                return 0;
            }
        };
    }
}
