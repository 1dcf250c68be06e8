package io.rdmaraw.microbench.result;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.output.Environment;
import io.rdmaraw.tools.output.Json;
import io.rdmaraw.tools.output.TextTable;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/**
 * The result of a bench, which can be printed as a table or as JSON. Thread-safe, because the signal hook runs on
 * another thread.
 */
public final class BenchReport {
    private final String bench;
    private final List<BenchRow> rows = new ArrayList<>();
    private final List<NotMeasured> notMeasured = new ArrayList<>();
    private boolean interrupted;

    private record NotMeasured(String what, String reason) {
    }

    public BenchReport(String bench) {
        this.bench = bench;
    }

    /**
     * Adds a row, or replaces the row of the same series. Also writes all rows to the file named by
     * {@value RowsSoFar#VARIABLE}, so that a report that ends the bench early can read them.
     */
    public synchronized void add(BenchRow row) {
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
     * Records a case that could not be measured.
     *
     * @param what   case and transport
     * @param reason reason as one sentence
     */
    public synchronized void addNotMeasured(String what, String reason) {
        notMeasured.add(new NotMeasured(what, reason));
    }

    /** Marks the report as interrupted. */
    synchronized void interrupt() {
        interrupted = true;
    }

    /** Returns whether the report has at least one row. */
    public synchronized boolean hasRows() {
        return !rows.isEmpty();
    }

    public synchronized ObjectNode toJson() {
        ObjectNode report = Json.object();
        report.put("bench", bench);
        if (interrupted) {
            report.put("interrupted", true);
        }
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

    public synchronized void printTable(PrintWriter out) {
        TextTable table = new TextTable("case", "transport", "device", "min", "median", "max", "unit", "ratio");
        rows.forEach(row -> table.row(row.toText()));
        table.print(out);
        notMeasured.forEach(one -> out.println("not measured: " + one.what() + ": " + one.reason()));
    }
}
