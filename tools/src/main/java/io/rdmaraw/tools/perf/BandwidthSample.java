package io.rdmaraw.tools.perf;

/**
 * The result of one side of a bandwidth measurement.
 *
 * @param side  "client" (sent) or "server" (received); of the way back, where both ways are measured at once, with
 *              "back" behind it
 * @param lost  frames sent and not received; -1 where it cannot be told
 */
record BandwidthSample(String side, int frameBytes, long frames, double seconds, double peakFramesPerSecond,
        long lost) {
    static final int UNKNOWN = -1;

    BandwidthSample ofTheWayBack() {
        return new BandwidthSample(side + " back", frameBytes, frames, seconds, peakFramesPerSecond, lost);
    }

    double framesPerSecond() {
        return seconds == 0 ? 0 : frames / seconds;
    }
}
