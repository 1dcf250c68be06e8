package io.rdmaraw.tools.perf;

/**
 * The length of a measurement.
 *
 * @param iterations    number of frames, or 0 to limit the duration
 * @param durationNanos duration, used if {@code iterations} is 0
 */
record RunLength(long iterations, long durationNanos) {
    static RunLength ofSeconds(double seconds) {
        return new RunLength(0, (long) (seconds * 1e9));
    }

    /** Returns how many more frames may be sent. */
    long left(long sent, long elapsedNanos) {
        if (iterations > 0) {
            return iterations - sent;
        }
        return elapsedNanos < durationNanos ? Long.MAX_VALUE : 0;
    }
}
