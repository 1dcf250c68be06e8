package io.rdmaraw.microbench.frames;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.microbench.frames.FramesCase.Mode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The setup of the frames bench works: every frame arrives, or {@code run} or {@code close} throws. */
class LoopUnderTestTest {
    @ParameterizedTest
    @CsvSource({"RX,1,false", "RX,64,false", "RX,64,true", "ECHO,1,false", "ECHO,64,false", "ECHO,64,true"})
    void everyFrameArrives(Mode mode, int burst, boolean burstMessages) throws Exception {
        FramesCase what = new FramesCase(mode, burst);
        try (LoopUnderTest loop = new LoopUnderTest(what, "soft:loop:bench", 64, burstMessages)) {
            for (int i = 0; i < 3; i++) {
                LoopUnderTest.Sample sample = loop.run(0.05);
                assertTrue(sample.nanosPerFrame() > 0 && sample.bytesPerFrame() >= 0, sample.toString());
            }
        }
    }
}
