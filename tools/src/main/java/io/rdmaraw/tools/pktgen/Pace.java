package io.rdmaraw.tools.pktgen;

/** When the next frame may go. The clock is the caller's. One thread. */
interface Pace {
    /** Whether a frame of this length may go now. */
    boolean mayGo(long nowNanos, int frameBytes);

    /** It has gone. */
    void went(int frameBytes);

    /** Nanoseconds until the next frame may go, 0 for now. */
    long nanosUntilNext(long nowNanos);

    /** Every frame as soon as there is room. */
    static Pace unlimited() {
        return new Pace() {
            @Override
            public boolean mayGo(long nowNanos, int frameBytes) {
                return true;
            }

            @Override
            public void went(int frameBytes) {
                // Nothing follows from it.
            }

            @Override
            public long nanosUntilNext(long nowNanos) {
                return 0;
            }
        };
    }
}
