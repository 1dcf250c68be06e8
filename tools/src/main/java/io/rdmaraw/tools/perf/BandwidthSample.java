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

    /**
     * Returns this result of a receiver with the frames that were lost before the first and after the last received
     * one. Their numbers do not show them.
     *
     * @param sent number of frames sent
     */
    BandwidthSample ofSent(long sent) {
        boolean unnumbered = lost == UNKNOWN && frames > 0;
        return unnumbered ? this : new BandwidthSample(side, frameBytes, frames, seconds, peakFramesPerSecond,
                Math.max(lost, sent - frames));
    }

    BandwidthSample asReverseDirection() {
        return new BandwidthSample(side + " back", frameBytes, frames, seconds, peakFramesPerSecond, lost);
    }

    double framesPerSecond() {
        return seconds == 0 ? 0 : frames / seconds;
    }
}
