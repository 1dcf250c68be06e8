package io.rdmaraw.microbench.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.rdmaraw.microbench.server.LoadGenerator.Load;
import io.rdmaraw.tools.command.ToolException;
import org.junit.jupiter.api.Test;

/** Parses reports of h2load in the format of nghttp2 1.52. */
class FrameworkLoadTest {
    private static final String REPORT = """
            Main benchmark duration is over for thread #0. Stopping all clients.

            finished in 3.00s, 78.00 req/s, 6.85KB/s
            requests: 240 total, 298 started, 240 done, 234 succeeded, 6 failed, 1 errored, 0 timeout
            status codes: 234 2xx, 0 3xx, 0 4xx, 5 5xx
            traffic: 20.55KB (21044) total, 5.04KB (5160) headers (space savings 73.43%), 4.11KB (4212) data
            """;

    @Test
    void rightAndWrongAnswersAreDistinguished() {
        Load load = FrameworkLoad.read(REPORT);
        assertEquals(234, load.answers());
        assertEquals(6, load.lost());
    }

    @Test
    void answersWithoutAMessageAreErrorsOfGrpc() {
        assertThrows(ToolException.class, () -> FrameworkLoad.read(REPORT.replace("4.11KB (4212)", "0B (0)")));
    }

    @Test
    void noAnswerAtAllIsAnError() {
        assertThrows(ToolException.class, () -> FrameworkLoad.read(REPORT.replace("234 2xx", "0 2xx")));
    }
}
