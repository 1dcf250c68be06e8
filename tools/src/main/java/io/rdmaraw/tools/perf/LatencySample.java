package io.rdmaraw.tools.perf;

import org.HdrHistogram.Histogram;

/**
 * The result of a latency measurement. Round trips are in nanoseconds.
 *
 * @param pings        sent
 * @param fromSchedule from when the ping was meant to go
 * @param fromSend     from when it went
 * @param lost         answers that did not come
 */
record LatencySample(long pings, Histogram fromSchedule, Histogram fromSend, long lost, double seconds) {
}
