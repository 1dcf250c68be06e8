package io.rdmaraw.tools.perf;

import org.HdrHistogram.Histogram;

/**
 * The result of a latency measurement. Round trips are in nanoseconds.
 *
 * @param pings        number of pings sent
 * @param fromSchedule round trips measured from the scheduled send time
 * @param fromSend     round trips measured from the actual send time
 * @param lost         number of missing answers
 * @param latePings    number of pings sent after the next one was already due
 */
record LatencySample(long pings, Histogram fromSchedule, Histogram fromSend, long lost, long latePings,
        double seconds) {
    private static final int MAX_LATE_SHARE = 10;

    /** Returns whether more than a tenth of the pings were late, which makes the schedule meaningless. */
    boolean isLate() {
        return latePings > pings / MAX_LATE_SHARE;
    }
}
