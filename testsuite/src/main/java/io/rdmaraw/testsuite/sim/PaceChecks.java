package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

/**
 * What a sender with a pacing rate may let go at once (SO_MAX_PACING_RATE), watched on the wire: a bucket that drains
 * at the rate never holds more than two bursts of a millisecond and what is said below.
 */
final class PaceChecks {
    private static final int BURSTS = 2;
    private static final int BURSTS_PER_SECOND = 1_000;
    private static final int MOST_BURST_BYTES = 1 << 16;
    private static final int LEAST_BURST_SEGMENTS = 2;
    /** The segment that empties the pacer's bucket, and tail loss probes, which do not wait. */
    private static final int SLACK_SEGMENTS = 4;

    private final long bytesPerSecond;
    private double levelBytes;
    private long lastNanos;

    PaceChecks(long bytesPerSecond) {
        this.bytesPerSecond = bytesPerSecond;
    }

    void sent(String name, Packet packet, int segmentBytes, long nowNanos) {
        if (packet.payload.length == 0 || packet.has(Packet.SYN)) {
            return;
        }
        levelBytes = Math.max(0, levelBytes - (nowNanos - lastNanos) * 1e-9 * bytesPerSecond) + packet.payload.length;
        lastNanos = nowNanos;
        long burst = burstBytes(bytesPerSecond, segmentBytes);
        check(levelBytes <= BURSTS * burst + SLACK_SEGMENTS * segmentBytes, "bursts as the pacing rate allows",
                name + " has sent " + (long) levelBytes + " bytes ahead of " + bytesPerSecond + " bytes a second at "
                        + packet);
    }

    /** Returns what may leave together. */
    static long burstBytes(long bytesPerSecond, int segmentBytes) {
        return Math.max(Math.min(bytesPerSecond / BURSTS_PER_SECOND, MOST_BURST_BYTES),
                LEAST_BURST_SEGMENTS * segmentBytes);
    }
}
