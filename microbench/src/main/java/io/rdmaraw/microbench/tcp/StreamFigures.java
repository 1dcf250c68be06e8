package io.rdmaraw.microbench.tcp;

import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.microbench.result.BenchReport;
import io.rdmaraw.microbench.result.BenchRow;
import io.rdmaraw.microbench.result.BenchRow.Unit;
import io.rdmaraw.microbench.rival.TunedTransport;
import io.rdmaraw.microbench.tcp.StreamCase.Figure;
import io.rdmaraw.tools.command.ToolException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/** Collects the figures by case and transport, one per run, and the failures. Failed cases are not repeated. */
final class StreamFigures {
    /**
     * The figures of a case.
     *
     * @param unit   unit of the values
     * @param values values of each transport by the number of the run
     */
    private record Series(Unit unit, Map<TunedTransport, TreeMap<Integer, Double>> values) {
    }

    private record Failure(String what, String reason) {
    }

    private static final TunedTransport OURS = TunedTransport.stock(Transport.RDMA_RAW);

    private final String prefix;
    private final Function<TunedTransport, String> deviceOf;
    private final StreamOptions options;
    private final PrintWriter progress;
    private final Map<String, Series> cases = new LinkedHashMap<>();
    private final List<Failure> failures = new ArrayList<>();

    /**
     * Creates an empty collection.
     *
     * @param prefix   prefix of the case names
     * @param deviceOf returns the device of a transport
     */
    StreamFigures(String prefix, Function<TunedTransport, String> deviceOf, StreamOptions options,
            PrintWriter progress) {
        this.prefix = prefix;
        this.deviceOf = deviceOf;
        this.options = options;
        this.progress = progress;
    }

    /**
     * Measures a case on a transport, unless the options exclude it or it has failed before. A failure excludes only
     * this case on this transport from further runs.
     *
     * @param run           number of the run; run 0 warms up the JIT compiler and does not count
     * @param settleSeconds time under load before the measurement
     */
    void measure(StreamCase streamCase, TunedTransport transport, int run, StreamEnds ends, double settleSeconds)
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

    void add(String caseName, TunedTransport transport, int run, Map<String, Figure> figures) {
        figures.forEach((suffix, figure) -> cases
                .computeIfAbsent(prefix + caseName + suffix,
                        name -> new Series(figure.unit(), new LinkedHashMap<>()))
                .values().computeIfAbsent(transport, t -> new TreeMap<>()).put(run, figure.value()));
    }

    /**
     * Adds a row for each case and transport, and the failures. The rows of this transport contain the ratios to each
     * of the others.
     */
    void addTo(BenchReport report) {
        addRowsTo(report);
        failures.forEach(failure -> report.addNotMeasured(failure.what(), failure.reason()));
    }

    /** Adds the rows so far. They replace earlier rows with fewer runs. */
    void addRowsTo(BenchReport report) {
        cases.forEach((name, series) -> addRows(report, name, series));
    }

    private void addRows(BenchReport report, String name, Series series) {
        TreeMap<Integer, Double> ours = series.values().get(OURS);
        boolean compared = false;
        for (Map.Entry<TunedTransport, TreeMap<Integer, Double>> other : series.values().entrySet()) {
            if (!other.getKey().isRdmaRaw()) {
                report.add(BenchRow.of(name, other.getKey().toString(), deviceOf.apply(other.getKey()), series.unit(),
                        List.copyOf(other.getValue().values())));
                compared |= ours != null && addCompared(report, name, series.unit(), ours, other);
            }
        }
        if (ours != null && !compared) {
            report.add(BenchRow.of(name, OURS.toString(), deviceOf.apply(OURS),
                    series.unit(), List.copyOf(ours.values())));
        }
    }

    /** Adds a row that compares the values run by run. Returns false if no run has values of both transports. */
    private boolean addCompared(BenchReport report, String name, Unit unit, TreeMap<Integer, Double> ours,
            Map.Entry<TunedTransport, TreeMap<Integer, Double>> other) {
        List<Integer> runs = ours.keySet().stream().filter(other.getValue()::containsKey).toList();
        if (runs.isEmpty()) {
            return false;
        }
        report.add(BenchRow.compared(name, OURS.toString(), deviceOf.apply(OURS), unit,
                runs.stream().map(ours::get).toList(), other.getKey().toString(),
                runs.stream().map(other.getValue()::get).toList()));
        return true;
    }
}
