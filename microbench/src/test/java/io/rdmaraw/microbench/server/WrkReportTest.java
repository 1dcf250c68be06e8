package io.rdmaraw.microbench.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.microbench.server.LoadGenerator.Load;
import io.rdmaraw.tools.command.ToolException;
import org.junit.jupiter.api.Test;

class WrkReportTest {
    private static final double DELTA = 1e-9;

    private static String report(String latencyNearMean, String rateNearMean, String tail) {
        return """
                Running 2s test @ http://10.0.0.1:5300/plaintext
                  1 threads and 1 connections
                  Thread Stats   Avg      Stdev     Max   +/- Stdev
                    Latency    81.49us  104.53us   3.09ms   %s
                    Req/Sec    14.07k     3.03k   18.27k    %s
                  Latency Distribution
                     50%%   19.00us
                     75%%    1.70ms
                     90%%    5.30ms
                     99%%    1.20s\s
                  14320 requests in 1.04s, 545.39KB read
                """.formatted(latencyNearMean, rateNearMean) + tail + """
                Requests/sec:  13798.25
                Transfer/sec:    525.52KB
                """;
    }

    @Test
    void readsAnswersAndPercentiles() {
        Load load = WrkReport.read(report("93.35%", "60.01%", ""));
        assertEquals(14_320, load.answers());
        assertEquals(0, load.lost());
        assertEquals(19, load.figures().get(Measure.P50), DELTA);
        assertEquals(1_200_000, load.figures().get(Measure.P99), DELTA);
    }

    @Test
    void takesNoShareOfSamplesForAPercentile() {
        Load load = WrkReport.read(report("97.99%", "62.50%", ""));
        assertEquals(19, load.figures().get(Measure.P50), DELTA);
        assertEquals(1_200_000, load.figures().get(Measure.P99), DELTA);
    }

    /** For pipelined requests wrk reports a percentile of 0. This is not a latency and must not be compared. */
    @Test
    void aPercentileOfZeroIsNone() {
        Load load = WrkReport.read(report("93.35%", "60.01%", "").replace("1.20s", "0.00us"));
        assertEquals(19, load.figures().get(Measure.P50), DELTA);
        assertFalse(load.figures().containsKey(Measure.P99));
    }

    @Test
    void countsErrorsAndWrongAnswersAsLost() {
        Load load = WrkReport.read(report("93.35%", "60.01%", """
                  Socket errors: connect 1, read 20, write 300, timeout 4000
                  Non-2xx or 3xx responses: 320
                """));
        assertEquals(14_000, load.answers());
        assertEquals(4_641, load.lost());
    }

    @Test
    void saysWhenNothingWasAnswered() {
        String silent = report("-nan%", "-nan%", "").replace("14320 requests", "0 requests");
        ToolException thrown = assertThrows(ToolException.class, () -> WrkReport.read(silent));
        assertTrue(thrown.getMessage().startsWith("wrk had no answer at all"), thrown.getMessage());
    }
}
