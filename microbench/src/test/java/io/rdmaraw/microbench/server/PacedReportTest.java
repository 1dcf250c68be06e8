package io.rdmaraw.microbench.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.microbench.server.LoadGenerator.Load;
import io.rdmaraw.tools.command.ToolException;
import org.junit.jupiter.api.Test;

class PacedReportTest {
    private static String report(int answered, int lateNanos) {
        return """
                {"due":1000,"answered":%d,"answeredInAll":1200,"wrong":0,
                "latencyNanos":[[50000,980],[400000,18],[3000000,2]],"lateNanos":[[200,980],[%d,20]]}
                """.formatted(answered, lateNanos).replace("\n", "");
    }

    @Test
    void readsPercentilesAndCounts() {
        Load load = PacedReport.read("a warning\n" + report(990, 5_000) + '\n', 2, 0.5);
        assertEquals(1200, load.answers(), "what the server's time was spent on");
        assertEquals(10, load.lost());
        assertEquals(2.5, load.loadSeconds());
        assertEquals(495, load.figures().get(Measure.RATE));
        assertEquals(50, load.figures().get(Measure.P50), 0.1);
        assertEquals(400, load.figures().get(Measure.P99), 1);
        assertEquals(3000, load.figures().get(Measure.P999), 3);
        assertEquals(5, load.figures().get(Measure.GENERATOR_LATE), 0.1);
        assertNull(load.warningOrNull());
    }

    @Test
    void saysWhenTheGeneratorDidNotHoldItsSchedule() {
        String doubt = PacedReport.read(report(1000, 300_000), 2, 0).warningOrNull();
        assertTrue(doubt.contains("more than 300 us late") && doubt.contains("above 400 us"), doubt);
    }

    @Test
    void refusesTextThatIsNoReport() {
        assertThrows(ToolException.class, () -> PacedReport.read("paced-bench: connect: refused", 1, 0));
        assertThrows(ToolException.class, () -> PacedReport.read(report(0, 1), 1, 0));
    }
}
