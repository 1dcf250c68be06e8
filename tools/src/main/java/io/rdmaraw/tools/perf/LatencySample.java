package io.rdmaraw.tools.perf;

import org.HdrHistogram.Histogram;

/**
 * The result of a latency measurement. Round trips are in nanoseconds.
 *
 * @param pings        sent
 * @param fromSchedule from when the ping was meant to go
 * @param fromSend     from when it went
 * @param lost         answers that did not come
 * @param latePings    pings that went when the next one was due already
 */
record LatencySample(long pings, Histogram fromSchedule, Histogram fromSend, long lost, long latePings,
        double seconds) {
    private static final int MOST_LATE_SHARE = 10;

    /** Returns whether so many pings went late that the schedule was none. */
    boolean isLate() {
        return latePings > pings / MOST_LATE_SHARE;
    }
}
