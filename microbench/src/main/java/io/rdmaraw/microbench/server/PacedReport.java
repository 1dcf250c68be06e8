package io.rdmaraw.microbench.server;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmaraw.microbench.server.LoadGenerator.Load;
import io.rdmaraw.tools.command.ToolException;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/** Parses the output of {@code paced-bench}. */
final class PacedReport {
    private static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final int DIGITS = 3;
    private static final double NANOS_PER_MICRO = 1e3;
    private static final double TAIL = 99;
    /**
     * Maximum delay of the generator as a share of the latency. Beyond it, the generator noticeably affects the
     * figures.
     */
    private static final double LATE_SHARE = 0.2;

    private PacedReport() {
    }

    /**
     * Parses a report.
     *
     * @param seconds       duration of the measurement
     * @param settleSeconds time before the measurement, in which requests do not count
     * @throws ToolException if no request was answered, or the text is not a report
     */
    static Load read(String report, double seconds, double settleSeconds) {
        JsonNode json = parse(report);
        long answered = json.required("answered").asLong();
        if (answered == 0) {
            throw new ToolException("no request was answered: " + json.required("due").asLong() + " were due");
        }
        Histogram latency = histogram(json.required("latencyNanos"));
        Histogram late = histogram(json.required("lateNanos"));
        Map<Measure, Double> figures = new EnumMap<>(Measure.class);
        figures.put(Measure.RATE, answered / seconds);
        figures.put(Measure.P50, micros(latency, 50));
        figures.put(Measure.P99, micros(latency, TAIL));
        figures.put(Measure.P999, micros(latency, 99.9));
        figures.put(Measure.GENERATOR_LATE, micros(late, TAIL));
        // The generator polls, so the busy time of its core is meaningless.
        figures.put(Measure.PER_MACHINE_CPU, Double.NaN);
        return new Load(json.required("answeredInAll").asLong(), json.required("due").asLong() - answered,
                seconds + settleSeconds, figures, warning(latency, late));
    }

    private static String warning(Histogram latency, Histogram late) {
        double lateMicros = micros(late, TAIL);
        double latencyMicros = micros(latency, TAIL);
        return lateMicros <= LATE_SHARE * latencyMicros ? null : String.format(Locale.ROOT,
                "the generator did not hold its schedule: of its requests 1 %% went more than %.0f us late with a"
                        + " connection free, where 1 %% of the latencies are above %.0f us", lateMicros, latencyMicros);
    }

    private static JsonNode parse(String report) {
        String text = report.strip();
        try {
            return new ObjectMapper().readTree(text.substring(text.lastIndexOf('\n') + 1));
        } catch (JsonProcessingException e) {
            throw new ToolException("not a report of paced-bench: " + text, e);
        }
    }

    private static Histogram histogram(JsonNode counts) {
        Histogram histogram = new Histogram(MAX_NANOS, DIGITS);
        counts.forEach(each -> histogram.recordValueWithCount(Math.min(MAX_NANOS, each.get(0).asLong()),
                each.get(1).asLong()));
        return histogram;
    }

    private static double micros(Histogram histogram, double percentile) {
        return histogram.getValueAtPercentile(percentile) / NANOS_PER_MICRO;
    }
}
