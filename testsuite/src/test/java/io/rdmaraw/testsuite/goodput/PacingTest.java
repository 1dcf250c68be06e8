package io.rdmaraw.testsuite.goodput;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tcp.congestion.Bbr;
import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.congestion.Cubic;
import org.junit.jupiter.api.Test;

/** Checks the timing of data sent with a pacing rate. */
class PacingTest {
    private static final int SECONDS = 3;
    private static final int SEGMENT_BYTES = 1448;
    private static final int BURSTS_PER_SECOND = 1_000;

    /** Measures how far the sender is ahead of the pacing rate, and how much it sends at one time. */
    private static final class Bucket implements SimulatedTransfer.Observer {
        private final long bytesPerSecond;
        private double levelBytes;
        private double highestBytes;
        private long lastNanos;
        private long atOnceBytes;
        private long mostAtOnceBytes;

        Bucket(long bytesPerSecond) {
            this.bytesPerSecond = bytesPerSecond;
        }

        @Override
        public void sent(int payloadBytes, long nowNanos) {
            atOnceBytes = nowNanos == lastNanos ? atOnceBytes + payloadBytes : payloadBytes;
            levelBytes = Math.max(0, levelBytes - (nowNanos - lastNanos) * 1e-9 * bytesPerSecond) + payloadBytes;
            lastNanos = nowNanos;
            highestBytes = Math.max(highestBytes, levelBytes);
            mostAtOnceBytes = Math.max(mostAtOnceBytes, atOnceBytes);
        }
    }

    @Test
    void burstsAreBoundedAndTheRateIsReached() {
        assertPaced(5_000_000, Cubic::new);
        assertPaced(5_000_000, Bbr::new);
    }

    @Test
    void slowRateSendsBurstsOfTwoSegments() {
        assertPaced(200_000, Cubic::new);
        assertPaced(200_000, Bbr::new);
    }

    private static void assertPaced(long bytesPerSecond, CongestionControl.Factory algorithm) {
        Bucket bucket = new Bucket(bytesPerSecond);
        double megabits = SimulatedTransfer.paced(PathCase.of(20, 0, 100, SECONDS), algorithm, bytesPerSecond, bucket);
        long burst = Math.max(bytesPerSecond / BURSTS_PER_SECOND, 2 * SEGMENT_BYTES);
        String said = algorithm.create().name() + " at " + bytesPerSecond + " bytes a second: " + megabits + " Mbit/s, "
                + bucket.mostAtOnceBytes + " bytes at once, " + (long) bucket.highestBytes + " ahead of the rate";
        assertTrue(bucket.highestBytes <= 2 * burst + SEGMENT_BYTES, said);
        assertTrue(bucket.mostAtOnceBytes <= 2 * burst + SEGMENT_BYTES, said);
        double wanted = bytesPerSecond / 1e6 * 8;
        assertEquals(wanted, megabits, wanted * 0.05, said);
    }
}
