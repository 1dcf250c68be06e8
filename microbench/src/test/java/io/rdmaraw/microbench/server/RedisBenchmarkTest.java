package io.rdmaraw.microbench.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.rdmaraw.microbench.server.LoadGenerator.Load;
import io.rdmaraw.tools.command.ToolException;
import org.junit.jupiter.api.Test;

/** Parses tables of redis-benchmark in the format of version 7.0.15. */
class RedisBenchmarkTest {
    private static final String HEADER = """
            "test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms",\
            "max_latency_ms"
            """;

    @Test
    void percentilesAreThoseOfTheTable() {
        Load load = RedisBenchmark.read(HEADER + """
                "GET","9478.67","0.784","0.048","0.351","3.039","6.239","9.127"
                """, 2000);
        assertEquals(2000, load.answers());
        assertEquals(9478.67, load.figures().get(Measure.RATE), 1e-9);
        assertEquals(351, load.figures().get(Measure.P50), 1e-9);
        assertEquals(6239, load.figures().get(Measure.P99), 1e-9);
    }

    @Test
    void aTableWithoutTheCommandIsAnError() {
        assertThrows(ToolException.class, () -> RedisBenchmark.read(HEADER, 2000));
    }
}
