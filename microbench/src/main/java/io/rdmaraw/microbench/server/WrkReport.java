package io.rdmaraw.microbench.server;

import io.rdmaraw.microbench.server.LoadGenerator.Load;
import io.rdmaraw.tools.command.ToolException;
import java.util.List;
import java.util.Map;

/** Parses the output of {@code wrk --latency}. */
final class WrkReport {
    private WrkReport() {
    }

    /**
     * Reads a report.
     *
     * @throws ToolException when nothing was answered, or this is no report
     */
    static Load read(String report) {
        long requests = Patterns.count("(?m)^ *(\\d+) requests in", report);
        if (requests == 0) {
            throw new ToolException("wrk had no answer at all: " + report.strip());
        }
        long wrong = report.contains("Non-2xx") ? Patterns.count("Non-2xx or 3xx responses: (\\d+)", report) : 0;
        return new Load(requests - wrong, wrong + socketErrors(report), Double.NaN,
                Map.of(Measure.P50, percentile(50, report), Measure.P99, percentile(99, report)), null);
    }

    /**
     * A line of the table of percentiles. Above that table are shares of samples near the mean, such as 97.99%, which
     * must not match.
     */
    private static double percentile(int percent, String report) {
        return Patterns.micros(Patterns.find("(?m)^ *" + percent + "% +(\\S+)$", report));
    }

    private static long socketErrors(String report) {
        long sum = 0;
        if (report.contains("Socket errors")) {
            for (String kind : List.of("connect", "read", "write", "timeout")) {
                sum += Patterns.count(kind + " (\\d+)", report);
            }
        }
        return sum;
    }
}
