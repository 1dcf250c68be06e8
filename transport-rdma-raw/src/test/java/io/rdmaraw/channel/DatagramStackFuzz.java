package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.IOException;
import java.io.InputStream;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Plays sequences of frames to a userspace host with bound ports, in virtual time; see {@link UserspaceHostFixture}.
 * The ordinary build replays the stored inputs, which {@code src/test/scapy/malformed_frames.py} generates, and some
 * random sequences. {@code ci/fuzz} fuzzes for longer.
 */
class DatagramStackFuzz {
    private static final int RANDOM_SEQUENCES = 60;
    private static final int FRAMES_OF_A_SEQUENCE = 100;

    @FuzzTest
    void anyBytes(byte[] data) {
        UserspaceHostFixture.play(data);
    }

    @Test
    void malformedFramesAtRandom() {
        SplittableRandom random = new SplittableRandom(3);
        UserspaceHostFixture.Outcome all = new UserspaceHostFixture.Outcome();
        for (int i = 0; i < RANDOM_SEQUENCES; i++) {
            all.add(UserspaceHostFixture.playOdd(random.nextLong(), FRAMES_OF_A_SEQUENCE));
        }
        assertEquals(RANDOM_SEQUENCES * FRAMES_OF_A_SEQUENCE, all.frames);
        // The test is only meaningful if some of the frames reach a channel, an error handler and the send path.
        assertTrue(all.datagrams > RANDOM_SEQUENCES && all.errors > 0 && all.sent > all.datagrams && all.unclaimed > 0,
                all::toString);
    }

    /** Stored fragments for which the number of reassembled datagrams is known. */
    @ParameterizedTest
    @CsvSource({"fragments4-in-order, 1", "fragments4-backwards, 1", "fragments6-shuffled, 1", "fragments6-repeated, 1",
        "fragments4-too-late, 0", "fragments-overlapping, 0", "fragments-teardrop, 0"})
    void fragmentsAreReassembled(String input, int reassembled) throws IOException {
        try (InputStream bytes = getClass().getResourceAsStream("DatagramStackFuzzInputs/anyBytes/" + input)) {
            assertEquals(reassembled, UserspaceHostFixture.play(bytes.readAllBytes()).reassembled);
        }
    }
}
