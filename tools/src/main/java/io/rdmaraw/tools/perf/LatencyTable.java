package io.rdmaraw.tools.perf;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.output.TextTable;
import java.util.Locale;
import org.HdrHistogram.Histogram;

/**
 * A table of latencies in microseconds with perftest's columns. Shows half of the round trip, as perftest does, or all
 * of it.
 */
final class LatencyTable {
    private static final double[] PERCENTILES = {99, 99.9, 99.99};

    private final double nanosPerUnit;
    private final TextTable table = new TextTable("#bytes", "#iterations", "t_min[usec]", "t_max[usec]",
            "t_typical[usec]", "t_avg[usec]", "t_stdev[usec]", "99%[usec]", "99.9%[usec]", "99.99%[usec]", "from",
            "lost");

    LatencyTable(boolean wholeRoundTrip) {
        nanosPerUnit = wholeRoundTrip ? 1e3 : 2e3;
    }

    TextTable table() {
        return table;
    }

    /**
     * Adds a row.
     *
     * @param from start of the measured time: "schedule" or "send"
     */
    void add(int frameBytes, LatencySample sample, Histogram histogram, String from, ObjectNode row) {
        table.row(Integer.toString(frameBytes), Long.toString(sample.pings()), micros(histogram.getMinValue()),
                micros(histogram.getMaxValue()), micros(histogram.getValueAtPercentile(50)),
                micros(histogram.getMean()),
                micros(histogram.getStdDeviation()), percentile(histogram, 0), percentile(histogram, 1),
                percentile(histogram, 2), from, Long.toString(sample.lost()));
        row.put("MsgSize", frameBytes).put("n_iterations", sample.pings());
        row.put("t_min", units(histogram.getMinValue())).put("t_max", units(histogram.getMaxValue()));
        row.put("t_typical", units(histogram.getValueAtPercentile(50))).put("t_avg", units(histogram.getMean()));
        row.put("t_stdev", units(histogram.getStdDeviation()));
        for (double percentile : PERCENTILES) {
            row.put("percentile_" + String.format(Locale.ROOT, percentile == 99 ? "%.0f" : "%s", percentile),
                    units(histogram.getValueAtPercentile(percentile)));
        }
        row.put("from", from).put("lost", sample.lost()).put("late", sample.latePings())
                .put("seconds", sample.seconds());
    }

    private double units(double nanos) {
        return Math.round(nanos / nanosPerUnit * 1000) / 1000.0;
    }

    private String micros(double nanos) {
        return String.format(Locale.ROOT, "%.2f", nanos / nanosPerUnit);
    }

    private String percentile(Histogram histogram, int index) {
        return micros(histogram.getValueAtPercentile(PERCENTILES[index]));
    }
}
