package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

/**
 * Checks on the wire that a sender respects its pacing rate (SO_MAX_PACING_RATE). A bucket that drains at the
 * rate never holds more than {@link #BURSTS} bursts of a millisecond plus {@link #SLACK_SEGMENTS} segments.
 */
final class PaceChecks {
    private static final int BURSTS = 2;
    /** Allows for the segment that empties the pacer's bucket, and for tail loss probes, which are not paced. */
    private static final int SLACK_SEGMENTS = 4;

    private final long bytesPerSecond;
    private final PacedBytes paced;

    PaceChecks(long bytesPerSecond) {
        this.bytesPerSecond = bytesPerSecond;
        paced = new PacedBytes(bytesPerSecond);
    }

    void sent(String name, Packet packet, int segmentBytes, long nowNanos) {
        if (packet.payload.length == 0 || packet.has(Packet.SYN)) {
            return;
        }
        double aheadBytes = paced.sent(packet.payload.length, nowNanos);
        check(aheadBytes <= BURSTS * paced.burstBytes(segmentBytes) + SLACK_SEGMENTS * segmentBytes,
                "bursts as the pacing rate allows", name + " has sent " + (long) aheadBytes + " bytes ahead of "
                        + bytesPerSecond + " bytes a second at " + packet);
    }
}
