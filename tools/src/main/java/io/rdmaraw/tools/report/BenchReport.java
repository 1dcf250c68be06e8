package io.rdmaraw.tools.report;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/** What a bench found, as a table or as JSON. */
public final class BenchReport {
    private final String bench;
    private final List<BenchRow> rows = new ArrayList<>();

    public BenchReport(String bench) {
        this.bench = bench;
    }

    public void add(BenchRow row) {
        rows.add(row);
    }

    public ObjectNode toJson() {
        ObjectNode report = Json.object();
        report.put("bench", bench);
        report.set("machine", Environment.machine());
        report.set("versions", Environment.versions());
        ArrayNode array = report.putArray("rows");
        rows.forEach(row -> array.add(row.toJson()));
        return report;
    }

    public void printTable(PrintWriter out) {
        TextTable table = new TextTable("case", "transport", "device", "min", "median", "max", "unit", "ratio");
        rows.forEach(row -> table.row(row.toText()));
        table.print(out);
    }
}
