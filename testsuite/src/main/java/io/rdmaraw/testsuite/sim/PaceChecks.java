package io.rdmaraw.testsuite.sim;

import static io.rdmaraw.testsuite.sim.SimulationFailure.check;

/**
 * What a sender with a pacing rate may let go at once (SO_MAX_PACING_RATE), watched on the wire: a bucket that drains
 * at the rate never holds more than two bursts of a millisecond and what is said below.
 */
final class PaceChecks {
    private static final int BURSTS = 2;
    /** The segment that empties the pacer's bucket, and tail loss probes, which do not wait. */
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
