package io.rdmaraw.tools.demo;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The user stops the demo early. */
@Timeout(300)
class EchoDemoTest {
    private static final String DEVICE = "soft:loop:ended-early";

    /**
     * If the demo ends during its warm-up, it reports the warm-up's rate. A rate from the empty measurement would be
     * absurdly high.
     */
    @Test
    void ratesOfADemoThatEndsInItsWarmUpAreOfTheWarmUp() throws Exception {
        StringWriter said = new StringWriter();
        AtomicInteger asked = new AtomicInteger();
        DemoResult result = new EchoDemo(new DemoOptions(DEVICE, DEVICE, 60, ProbeFrame.MIN_BYTES, 16),
                new PrintWriter(said), () -> asked.incrementAndGet() == 1).run();
        assertTrue(result.frames() > 0, result.toString());
        // The demo checks for its end once per second, so it runs for at least a second.
        assertTrue(result.nanosPerFrame() * result.frames() >= 1e9, result.toString());
        assertTrue(said.toString().contains("before the warm-up was over"), said.toString());
    }
}
