package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * Scenarios from arbitrary bytes: no exception, no endless output, no unlimited resources, no leak.
 * {@code ci/fuzz} fuzzes for longer; the normal build replays the stored inputs and some
 * random ones.
 */
class SegmentSequenceFuzz {
    private static final int RANDOM_SEQUENCES = 1_000;
    private static final int MAXIMUM_BYTES = 4_000;

    @FuzzTest
    void anyBytes(byte[] data) {
        SegmentSequence.play(data);
    }

    @Test
    void bytesAtRandom() {
        SplittableRandom random = new SplittableRandom(11);
        long accepted = 0;
        long delivered = 0;
        long retransmitted = 0;
        for (int i = 0; i < RANDOM_SEQUENCES; i++) {
            byte[] data = new byte[random.nextInt(MAXIMUM_BYTES)];
            random.nextBytes(data);
            TcpCounters counters = SegmentSequence.play(data);
            accepted += counters.passiveOpens;
            delivered += counters.payloadBytesIn;
            retransmitted += counters.retransmittedSegments;
        }
        // The test is only meaningful if the scenarios reach established connections.
        assertTrue(accepted > RANDOM_SEQUENCES / 10 && delivered > RANDOM_SEQUENCES && retransmitted > RANDOM_SEQUENCES,
                accepted + " accepted, " + delivered + " bytes delivered, " + retransmitted + " segments repeated");
    }
}
