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
 * Whole sequences of frames to a host of our own with ports, in virtual time; see {@link UserspaceHostFixture}.
 * CONTRIBUTING.md has the command that fuzzes in earnest; the ordinary build replays the kept inputs, which
 * {@code src/test/scapy/malformed_frames.py} has made, and some at random.
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
        // Frames that never led anywhere would prove nothing.
        assertTrue(all.datagrams > RANDOM_SEQUENCES && all.errors > 0 && all.sent > all.datagrams && all.unclaimed > 0,
                all::toString);
    }

    /** Kept inputs that have a known end. */
    @ParameterizedTest
    @CsvSource({"fragments4-in-order, 1", "fragments4-backwards, 1", "fragments6-shuffled, 1", "fragments6-repeated, 1",
        "fragments4-too-late, 0", "fragments-overlapping, 0", "fragments-teardrop, 0"})
    void datagramsArePutTogether(String input, int reassembled) throws IOException {
        try (InputStream bytes = getClass().getResourceAsStream("DatagramStackFuzzInputs/anyBytes/" + input)) {
            assertEquals(reassembled, UserspaceHostFixture.play(bytes.readAllBytes()).reassembled);
        }
    }
}
