package io.rdmaraw.tools.report;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** What a bench found, as a table or as JSON. */
public final class BenchReport {
    private static final double BUSY_LOAD = 0.5;

    private final String bench;
    private final List<BenchRow> rows = new ArrayList<>();
    private final List<NotMeasured> notMeasured = new ArrayList<>();

    private record NotMeasured(String what, String reason) {
    }

    public BenchReport(String bench) {
        this.bench = bench;
    }

    /** Warns before a bench if other programs take the cores: figures would tell of them. */
    public static void warnIfBusy(PrintWriter out) {
        double load = Environment.loadAverage();
        if (load > BUSY_LOAD) {
            out.println(String.format(Locale.ROOT, "rdma-raw: this machine is busy (load %.1f on %d cores): the figures"
                    + " will say more about the other programs than about this one", load,
                    Runtime.getRuntime().availableProcessors()));
            out.flush();
        }
    }

    /**
     * Adds a row, or puts it in the place of one that says the same of fewer runs. What there is by now is kept where
     * {@value RowsSoFar#VARIABLE} says, for a report that has to end the bench before it is done.
     */
    public void add(BenchRow row) {
        int place = 0;
        while (place < rows.size() && !rows.get(place).isOfSameSeries(row)) {
            place++;
        }
        if (place < rows.size()) {
            rows.set(place, row);
        } else {
            rows.add(row);
        }
        RowsSoFar.keep(this);
    }

    /**
     * Something could not be measured; the rest is reported all the same.
     *
     * @param what   the case, and on what
     * @param reason a sentence
     */
    public void addNotMeasured(String what, String reason) {
        notMeasured.add(new NotMeasured(what, reason));
    }

    /** Returns whether anything was measured. */
    public boolean hasRows() {
        return !rows.isEmpty();
    }

    public ObjectNode toJson() {
        ObjectNode report = Json.object();
        report.put("bench", bench);
        report.set("machine", Environment.machine());
        report.set("versions", Environment.versions());
        ArrayNode array = report.putArray("rows");
        rows.forEach(row -> array.add(row.toJson()));
        if (!notMeasured.isEmpty()) {
            ArrayNode missing = report.putArray("notMeasured");
            notMeasured.forEach(one -> missing.addObject().put("what", one.what()).put("reason", one.reason()));
        }
        return report;
    }

    public void printTable(PrintWriter out) {
        TextTable table = new TextTable("case", "transport", "device", "min", "median", "max", "unit", "ratio");
        rows.forEach(row -> table.row(row.toText()));
        table.print(out);
        notMeasured.forEach(one -> out.println("not measured: " + one.what() + ": " + one.reason()));
    }
}
