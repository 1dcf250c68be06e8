package io.rdmaraw.tools.page;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** The page: one HTML document that needs nothing else. */
final class Page {
    private static final double EVEN = 0.02;
    private static final String RATIO = "ratio";
    private static final Set<String> RATIO_COLUMNS = Set.of("ratioTo", "ratioMin", "ratioMedian", "ratioMax");

    private final ObjectNode machine;
    private final ObjectNode versions;
    private final String command;
    private final String date;
    private final List<MeasurementRun> runs;
    private final StringBuilder html = new StringBuilder();
    private String lastHeading = "";

    Page(ObjectNode machine, ObjectNode versions, String command, String date, List<MeasurementRun> runs) {
        this.machine = machine;
        this.versions = versions;
        this.command = command;
        this.date = date;
        this.runs = runs;
    }

    String render(String style) {
        html.append("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\""
                + " content=\"width=device-width\"><title>netty-transport-rdma-raw: measured</title><style>")
                .append(style).append("</style></head><body><main>\n<h1>netty-transport-rdma-raw, measured</h1>\n");
        environment();
        comparisons();
        String throughput = Charts.throughput(runs);
        if (throughput != null) {
            html.append("<figure>").append(throughput).append("</figure>\n");
        }
        runs.forEach(this::section);
        html.append("</main></body></html>\n");
        return html.toString();
    }

    private void environment() {
        double load = machine.path("loadAverage").asDouble();
        int cores = machine.path("cores").asInt();
        html.append("<dl>");
        term("When", date);
        term("How", command);
        term("Machine", machine.path("cpu").asText() + ", " + cores + " cores, " + machine.path("memory").asText()
                + ", "
                + machine.path("os").asText() + ", Linux " + machine.path("kernel").asText());
        term("Versions", "Java " + versions.path("java").asText() + " (" + versions.path("vm").asText() + "), Netty "
                + versions.path("netty").asText());
        html.append("</dl>\n");
        if (load > cores * 0.25) {
            html.append(String.format(Locale.ROOT, "<p class=\"w\">Other programs wanted %.1f of the %d cores when this"
                    + " began: the figures tell of them too. Compare ratios, which were taken in pairs, and mind their"
                    + " spread.</p>%n", load, cores));
        }
        html.append("<p>A ratio compares two runs that followed each other; above 1 is better than the one it is"
                + " compared"
                + " with, for costs and for rates alike. Minimum, median and maximum are over the runs.</p>\n");
    }

    private void term(String term, String text) {
        html.append("<dt>").append(term).append("</dt><dd>").append(Html.escape(text)).append("</dd>");
    }

    /** Everything that is compared with something, in one table. */
    private void comparisons() {
        html.append("<h2>Side by side</h2>\n<table><thead><tr><th>case<th>measured<th>compared with<th>device"
                + "<th class=\"n\">ratio<th class=\"n\">least<th class=\"n\">most<th></tr></thead><tbody>\n");
        for (MeasurementRun run : runs) {
            if (run.result() == null) {
                continue;
            }
            for (JsonNode row : run.result().path("rows")) {
                if (row.hasNonNull("ratioTo")) {
                    double ratio = row.path("ratioMedian").asDouble();
                    html.append("<tr><td>").append(Html.escape(row.path("case").asText())).append("<td>")
                            .append(Html.escape(row.path("transport").asText())).append("<td>")
                            .append(Html.escape(row.path("ratioTo").asText())).append("<td>")
                            .append(Html.escape(row.path("device").asText())).append("<td class=\"n ")
                            .append(verdict(ratio)).append("\">").append(Html.number(ratio)).append("<td class=\"n\">")
                            .append(Html.number(row.path("ratioMin").asDouble())).append("<td class=\"n\">")
                            .append(Html.number(row.path("ratioMax").asDouble())).append("<td>").append(bar(row))
                            .append("</tr>\n");
                }
            }
        }
        html.append("</tbody></table>\n");
    }

    private static String verdict(double ratio) {
        return ratio > 1 + EVEN ? "up" : ratio < 1 - EVEN ? "down" : "";
    }

    /** From a quarter to four times, in equal ratios: a line for the spread, a dot for the median. */
    private static String bar(JsonNode row) {
        Axis axis = new Axis(0.25, 4, 4, 156, true);
        double least = axis.place(Math.clamp(row.path("ratioMin").asDouble(), 0.25, 4));
        double most = axis.place(Math.clamp(row.path("ratioMax").asDouble(), 0.25, 4));
        double median = axis.place(Math.clamp(row.path("ratioMedian").asDouble(), 0.25, 4));
        return String.format(Locale.ROOT, "<svg class=\"r\" viewBox=\"0 0 160 14\"><line class=\"g\" x1=\"80\" y1=\"0\""
                + " x2=\"80\" y2=\"14\"/><line class=\"s c0\" x1=\"%.1f\" y1=\"7\" x2=\"%.1f\" y2=\"7\"/><circle"
                + " class=\"p c0\" cx=\"%.1f\" cy=\"7\" r=\"4\"/></svg>", least, most, median);
    }

    private void section(MeasurementRun run) {
        Measurement measurement = run.measurement();
        // Runs that differ in an option stand under one heading.
        String heading = measurement.name().replaceFirst("\\..*", "");
        if (!heading.equals(lastHeading)) {
            html.append("<h2>").append(Html.escape(heading)).append("</h2>\n<p>")
                    .append(Html.escape(measurement.serves())).append("</p>\n");
            lastHeading = heading;
        }
        html.append("<p><code>")
                .append(Html.escape(measurement.commandLine())).append("</code> ")
                .append(String.format(Locale.ROOT, "%.0f s", run.seconds())).append("</p>\n");
        if (run.result() == null) {
            html.append("<p class=\"w\">Not measured: ").append(Html.escape(run.failure())).append("</p>\n");
            return;
        }
        for (String chart : Charts.of(run.result())) {
            html.append("<figure>").append(chart).append("</figure>\n");
        }
        table(run.result().path("rows"));
    }

    private static JsonNode ratio(JsonNode row) {
        return row.hasNonNull("ratioTo") ? TextNode.valueOf(Html.number(row.path("ratioMedian").asDouble()) + " of "
                + row.path("ratioTo").asText() + " (" + Html.number(row.path("ratioMin").asDouble()) + " to "
                + Html.number(row.path("ratioMax").asDouble()) + ')') : TextNode.valueOf("");
    }

    /** All rows, with the columns that they have. */
    private void table(JsonNode rows) {
        Set<String> columns = new LinkedHashSet<>();
        rows.forEach(row -> row.fieldNames().forEachRemaining(columns::add));
        if (columns.removeAll(RATIO_COLUMNS)) {
            columns.add(RATIO);
        }
        List<String> order = new ArrayList<>(columns);
        boolean large = rows.size() > 24;
        html.append(large ? "<details><summary>" + rows.size() + " rows</summary>" : "").append("<table><thead><tr>");
        order.forEach(column -> html.append("<th").append(rows.path(0).path(column).isNumber() ? " class=\"n\">" : ">")
                .append(Html.escape(column)));
        html.append("</tr></thead><tbody>\n");
        for (JsonNode row : rows) {
            html.append("<tr>");
            for (String column : order) {
                JsonNode value = column.equals(RATIO) ? ratio(row) : row.path(column);
                html.append(value.isNumber() ? "<td class=\"n\">" + Html.number(value.asDouble())
                        : "<td>" + Html.escape(value.asText("")));
            }
            html.append("</tr>\n");
        }
        html.append("</tbody></table>").append(large ? "</details>" : "").append('\n');
    }
}
