package io.rdmaraw.microbench.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmaraw.microbench.server.LoadGenerator.Load;
import io.rdmaraw.tools.command.ToolException;
import org.junit.jupiter.api.Test;

class PolledLoadTest {
    private static final String REPORT = "{\"answered\":500,\"wrong\":2,\"nanos\":250000000,\"serverSeconds\":0.125,"
            + "\"compiledSeconds\":0.01,\"p50Nanos\":5400,\"p99Nanos\":8600,\"p999Nanos\":34000}";

    private static Load read(String report) throws Exception {
        return PolledLoad.read(new ObjectMapper().readTree(report));
    }

    @Test
    void figuresFollowFromTheReport() throws Exception {
        Load load = read(REPORT);
        assertEquals(500, load.answers());
        assertEquals(2, load.lost());
        assertEquals(2000, load.figures().get(Measure.RATE), 1e-9);
        assertEquals(4000, load.figures().get(Measure.PER_SERVER_CPU), 1e-9);
        assertEquals(50, load.figures().get(Measure.SERVER_CPU), 1e-9);
        assertNull(load.warningOrNull());
        assertEquals(5.4, load.figures().get(Measure.P50), 1e-9);
        assertEquals(8.6, load.figures().get(Measure.P99), 1e-9);
        assertEquals(34, load.figures().get(Measure.P999), 1e-9);
        assertTrue(load.figures().get(Measure.PER_MACHINE_CPU).isNaN());
    }

    @Test
    void aClientThatIsStillCompiledIsADoubt() throws Exception {
        Load load = read(REPORT.replace("\"compiledSeconds\":0.01", "\"compiledSeconds\":0.05"));
        assertEquals("the JIT compiler of the client used 20 % of its core", load.warningOrNull());
    }

    @Test
    void noAnswerIsAnError() {
        assertThrows(ToolException.class, () -> read(REPORT.replace("\"answered\":500", "\"answered\":0")));
    }
}
