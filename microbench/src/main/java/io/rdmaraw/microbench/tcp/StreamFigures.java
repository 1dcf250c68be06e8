package io.rdmaraw.microbench.tcp;

import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.result.BenchRow;
import io.rdmaraw.microbench.result.BenchRow.Unit;
import io.rdmaraw.microbench.tcp.StreamCase.Figure;
import io.rdmaraw.tools.command.ToolException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/** The figures by case and transport, one per run, and the failures, which are not tried again. */
final class StreamFigures {
    /** @param values of each transport by the number of the run */
    private record Series(Unit unit, Map<Transport, TreeMap<Integer, Double>> values) {
    }

    private record Failure(String what, String reason) {
    }

    private final String prefix;
    private final Function<Transport, String> deviceOf;
    private final StreamOptions options;
    private final PrintWriter progress;
    private final Map<String, Series> cases = new LinkedHashMap<>();
    private final List<Failure> failures = new ArrayList<>();

    /**
     * Creates an empty collection.
     *
     * @param prefix   begins the names of the cases
     * @param deviceOf where each transport ran
     */
    StreamFigures(String prefix, Function<Transport, String> deviceOf, StreamOptions options, PrintWriter progress) {
        this.prefix = prefix;
        this.deviceOf = deviceOf;
        this.options = options;
        this.progress = progress;
    }

    /**
     * Measures a case on a transport, unless it is not wanted or has failed before. A failure leaves out only this case
     * on this transport.
     *
     * @param run           its number; what run 0 finds, which warms the compiler up, does not count
     * @param settleSeconds under load before the measurement
     */
    void measure(StreamCase streamCase, Transport transport, int run, StreamEnds ends, double settleSeconds)
            throws InterruptedException {
        String what = prefix + streamCase.name() + " on " + transport;
        if (!options.isWantedOn(streamCase, transport)
                || failures.stream().anyMatch(failure -> failure.what().equals(what))) {
            return;
        }
        try {
            Map<String, Figure> measured = ends.measure(streamCase, settleSeconds, options.seconds());
            if (run > 0) {
                add(streamCase.name(), transport, run, measured);
            }
        } catch (ToolException e) {
            failures.add(new Failure(what, e.getMessage()));
            say("rdma-raw: " + what + " is left out: " + e.getMessage());
        }
    }

    void say(String what) {
        progress.println(what);
        progress.flush();
    }

    void add(String caseName, Transport transport, int run, Map<String, Figure> figures) {
        figures.forEach((suffix, figure) -> cases
                .computeIfAbsent(prefix + caseName + suffix,
                        name -> new Series(figure.unit(), new EnumMap<>(Transport.class)))
                .values().computeIfAbsent(transport, t -> new TreeMap<>()).put(run, figure.value()));
    }

    /** Adds a row for each case and transport, with the ratios of ours to each of the others, and the failures. */
    void addTo(BenchReport report) {
        addRowsTo(report);
        failures.forEach(failure -> report.addNotMeasured(failure.what(), failure.reason()));
    }

    /** Adds the rows so far, or replaces those of fewer runs. */
    void addRowsTo(BenchReport report) {
        cases.forEach((name, series) -> addRows(report, name, series));
    }

    private void addRows(BenchReport report, String name, Series series) {
        TreeMap<Integer, Double> ours = series.values().get(Transport.RDMA_RAW);
        boolean compared = false;
        for (Map.Entry<Transport, TreeMap<Integer, Double>> other : series.values().entrySet()) {
            if (other.getKey() != Transport.RDMA_RAW) {
                report.add(BenchRow.of(name, other.getKey().toString(), deviceOf.apply(other.getKey()), series.unit(),
                        List.copyOf(other.getValue().values())));
                compared |= ours != null && addCompared(report, name, series.unit(), ours, other);
            }
        }
        if (ours != null && !compared) {
            report.add(BenchRow.of(name, Transport.RDMA_RAW.toString(), deviceOf.apply(Transport.RDMA_RAW),
                    series.unit(), List.copyOf(ours.values())));
        }
    }

    /** Compares the values of the same run; returns false if there is no such run. */
    private boolean addCompared(BenchReport report, String name, Unit unit, TreeMap<Integer, Double> ours,
            Map.Entry<Transport, TreeMap<Integer, Double>> other) {
        List<Integer> runs = ours.keySet().stream().filter(other.getValue()::containsKey).toList();
        if (runs.isEmpty()) {
            return false;
        }
        report.add(BenchRow.compared(name, Transport.RDMA_RAW.toString(), deviceOf.apply(Transport.RDMA_RAW), unit,
                runs.stream().map(ours::get).toList(), other.getKey().toString(),
                runs.stream().map(other.getValue()::get).toList()));
        return true;
    }
}
