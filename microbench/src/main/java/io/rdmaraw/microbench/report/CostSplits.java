package io.rdmaraw.microbench.report;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Optional;

/** Splits the cost of a frame into parts. */
final class CostSplits {
    private static final int BURST = 64;

    private CostSplits() {
    }

    /**
     * Splits each row in nanoseconds per frame that has a reference into the cost of the reference and the remainder.
     */
    static StackedBars beyondReference(JsonNode rows) {
        StackedBars bars = new StackedBars("cost of a frame, split", "ns", List.of("what the reference takes",
                "what is added to it"));
        for (JsonNode row : rows) {
            if (row.path("unit").asText().equals("ns/frame") && row.hasNonNull("ratioTo")) {
                reference(rows, row).ifPresent(reference -> {
                    double all = row.path("median").asDouble();
                    double base = Math.min(all, reference.path("median").asDouble());
                    bars.add(row.path("case").asText() + ' ' + row.path("transport").asText(), List.of(base,
                            all - base));
                });
            }
        }
        return bars;
    }

    private static Optional<JsonNode> reference(JsonNode rows, JsonNode row) {
        return Report.stream(rows).filter(other -> other.path("case").equals(row.path("case"))
                && other.path("device").equals(row.path("device"))
                && other.path("transport").equals(row.path("ratioTo"))).findFirst();
    }

    /**
     * Splits the result of the JMH bench that sends and receives bursts on one thread. The parts are the cost of
     * sending, the cost of receiving with one handler, and the cost of any further work of the handler.
     */
    static StackedBars byWork(JsonNode rows) {
        StackedBars bars = new StackedBars("cost of a frame in a burst of 64, by what is done", "ns", List.of(
                "device, and sending to it", "receiving, pipeline, release", "what the handler does"));
        double generator = nanos(rows, "GENERATOR");
        addWork(bars, "receive", generator, nanos(rows, "RX"), nanos(rows, "RX"));
        addWork(bars, "receive, 6 handlers", generator, nanos(rows, "RX"), nanos(rows, "RX_6_HANDLERS"));
        addWork(bars, "echo", generator, nanos(rows, "RX"), nanos(rows, "ECHO"));
        addWork(bars, "receive, burst messages", generator, nanos(rows, "RX_BURST_MESSAGES"),
                nanos(rows, "RX_BURST_MESSAGES"));
        addWork(bars, "echo, burst messages", generator, nanos(rows, "RX_BURST_MESSAGES"),
                nanos(rows, "ECHO_BURST_MESSAGES"));
        return bars;
    }

    private static void addWork(StackedBars bars, String label, double generator, double received, double all) {
        if (!Double.isNaN(generator + received + all)) {
            bars.add(label, List.of(generator, Math.max(0, received - generator), Math.max(0, all - received)));
        }
    }

    /** Returns the cost per frame, or NaN if it was not measured. */
    private static double nanos(JsonNode rows, String work) {
        String name = "FramePath.roundOfOneBurst burst=" + BURST + " work=" + work;
        return Report.stream(rows).filter(row -> row.path("case").asText().equals(name))
                .mapToDouble(row -> row.path("median").asDouble() / BURST).findFirst().orElse(Double.NaN);
    }
}
