package io.rdmaraw.tools.perf;

/**
 * The result of one side of a bandwidth measurement.
 *
 * @param side "client" (sent) or "server" (received); followed by " back" for the reverse direction of a bidirectional
 *             run
 * @param lost frames sent but not received; -1 if unknown
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
