package io.rdmaraw.microbench.server;

import io.rdmaraw.microbench.server.LoadGenerator.Load;
import io.rdmaraw.tools.command.ToolException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Parses the output of {@code wrk --latency}. */
final class WrkReport {
    private WrkReport() {
    }

    /**
     * Parses a report.
     *
     * @throws ToolException if no request was answered, or the text is not a report
     */
    static Load read(String report) {
        long requests = Patterns.count("(?m)^ *(\\d+) requests in", report);
        if (requests == 0) {
            throw new ToolException("wrk had no answer at all: " + report.strip());
        }
        long wrong = report.contains("Non-2xx") ? Patterns.count("Non-2xx or 3xx responses: (\\d+)", report) : 0;
        Map<Measure, Double> figures = new EnumMap<>(Measure.class);
        putPercentile(Measure.P50, 50, report, figures);
        putPercentile(Measure.P99, 99, report, figures);
        return new Load(requests - wrong, wrong + socketErrors(report), Double.NaN, figures, null);
    }

    /**
     * Adds a percentile unless it is 0. wrk counts a batch of pipelined requests as one sample, and then reports 0 for
     * the higher percentiles.
     */
    private static void putPercentile(Measure measure, int percent, String report, Map<Measure, Double> figures) {
        double micros = percentile(percent, report);
        if (micros > 0) {
            figures.put(measure, micros);
        }
    }

    /**
     * Returns a percentile in microseconds. The pattern matches only whole percentages, because the report also
     * contains shares of samples near the mean, such as 97.99%.
     */
    private static double percentile(int percent, String report) {
        return Patterns.micros(Patterns.find("(?m)^ *" + percent + "% +(\\S+) *$", report));
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
