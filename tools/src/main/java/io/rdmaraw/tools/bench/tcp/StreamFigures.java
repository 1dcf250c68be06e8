package io.rdmaraw.tools.bench.tcp;

import io.rdmaraw.examples.server.Transport;
import io.rdmaraw.tools.bench.tcp.StreamCase.Figure;
import io.rdmaraw.tools.report.BenchReport;
import io.rdmaraw.tools.report.BenchRow;
import io.rdmaraw.tools.report.BenchRow.Unit;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Figures by case and transport, one per run. */
final class StreamFigures {
    private record Series(Unit unit, Map<Transport, List<Double>> values) {
    }

    private final String prefix;
    private final Function<Transport, String> deviceOf;
    private final Map<String, Series> cases = new LinkedHashMap<>();

    /**
     * Nothing yet.
     *
     * @param prefix   begins the names of the cases
     * @param deviceOf where each transport ran
     */
    StreamFigures(String prefix, Function<Transport, String> deviceOf) {
        this.prefix = prefix;
        this.deviceOf = deviceOf;
    }

    void add(String caseName, Transport transport, Map<String, Figure> figures) {
        figures.forEach((suffix, figure) -> cases
                .computeIfAbsent(prefix + caseName + suffix,
                        name -> new Series(figure.unit(), new EnumMap<>(Transport.class)))
                .values().computeIfAbsent(transport, t -> new ArrayList<>()).add(figure.value()));
    }

    /** Adds a row for each case and transport; ours is compared with each of the others. */
    void addTo(BenchReport report) {
        cases.forEach((name, series) -> series.values().forEach((transport, values) -> {
            if (transport != Transport.RDMA_RAW) {
                report.add(BenchRow.of(name, transport.toString(), deviceOf.apply(transport), series.unit(), values));
                addCompared(report, name, series, transport);
            }
        }));
    }

    private void addCompared(BenchReport report, String name, Series series, Transport other) {
        List<Double> ours = series.values().get(Transport.RDMA_RAW);
        report.add(BenchRow.compared(name, Transport.RDMA_RAW.toString(), deviceOf.apply(Transport.RDMA_RAW),
                series.unit(), ours, other.toString(), series.values().get(other)));
    }
}
