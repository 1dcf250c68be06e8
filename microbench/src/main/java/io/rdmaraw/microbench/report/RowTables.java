package io.rdmaraw.microbench.report;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** Renders the rows of results as HTML tables. */
final class RowTables {
    private static final double EVEN = 0.02;
    private static final int LARGE = 16;
    /** Largest ratio that the small spread charts show. */
    private static final double WIDEST = 10;
    private static final String RATIO = "ratio";
    private static final Set<String> RATIO_COLUMNS = Set.of("ratioTo", "ratioMin", "ratioMedian", "ratioMax");

    private final StringBuilder html;

    RowTables(StringBuilder html) {
        this.html = html;
    }

    /** Adds a table of the rows with ratios, if there are any. */
    void comparisons(MeasurementResult result) {
        List<JsonNode> compared = Report.stream(result.rows()).filter(RowTables::isOfOurs).toList();
        if (compared.isEmpty()) {
            return;
        }
        html.append("<h3>").append(Html.escape(result.name()))
                .append("</h3>\n<div class=\"t\"><table class=\"side\"><thead><tr><th>case<th class=\"n\">ratio<th>"
                + "<th>measured<th class=\"n\">median<th><th>compared with"
                + "<th class=\"n more\">least<th class=\"n more\">most<th class=\"n more\">runs</tr></thead><tbody>\n");
        String last = "";
        for (JsonNode row : compared) {
            double ratio = row.path("ratioMedian").asDouble();
            String name = row.path("case").asText();
            html.append("<tr class=\"").append(verdict(ratio)).append("\"><td>")
                    .append(name.equals(last) ? "" : Html.escape(name)).append("<td class=\"n ").append(verdict(ratio))
                    .append("\">").append(Html.number(ratio)).append("<td>").append(bar(row));
            cell(row.path("transport").asText() + ' ' + row.path("device").asText());
            number(row.path("median").asDouble());
            cell(row.path("unit").asText());
            cell(row.path("ratioTo").asText());
            spread(row.path("ratioMin").asDouble());
            spread(row.path("ratioMax").asDouble());
            spread(row.path("runs").asDouble());
            html.append("</tr>\n");
            last = name;
        }
        html.append("</tbody></table></div>\n");
    }

    private void cell(String text) {
        html.append("<td>").append(Html.escape(text));
    }

    private void number(double value) {
        html.append("<td class=\"n\">").append(Html.number(value));
    }

    /** Adds a cell of a column that narrow windows hide. */
    private void spread(double value) {
        html.append("<td class=\"n more\">").append(Html.number(value));
    }

    /**
     * Returns whether the row compares this transport with another. The page shows neither comparisons between rivals
     * nor the lateness of the load generator as a success or failure.
     */
    private static boolean isOfOurs(JsonNode row) {
        return row.hasNonNull("ratioTo") && row.path("transport").asText().startsWith("rdma-raw")
                && !row.path("case").asText().endsWith(".generatorLate");
    }

    static String verdict(double ratio) {
        return ratio > 1 + EVEN ? "up" : ratio < 1 - EVEN ? "down" : "";
    }

    /**
     * Returns a small chart on a logarithmic scale. A line shows the spread, a dot shows the median, and a mark shows
     * the ratio 1.
     */
    private static String bar(JsonNode row) {
        Axis axis = new Axis(1 / WIDEST, WIDEST, 4, 76, true);
        double least = axis.place(Math.clamp(row.path("ratioMin").asDouble(), 1 / WIDEST, WIDEST));
        double most = axis.place(Math.clamp(row.path("ratioMax").asDouble(), 1 / WIDEST, WIDEST));
        double median = axis.place(Math.clamp(row.path("ratioMedian").asDouble(), 1 / WIDEST, WIDEST));
        return String.format(Locale.ROOT, "<svg class=\"r\" viewBox=\"0 0 80 14\"><line class=\"g\" x1=\"40\" y1=\"0\""
                + " x2=\"40\" y2=\"14\"/><line class=\"s c0\" x1=\"%.1f\" y1=\"7\" x2=\"%.1f\" y2=\"7\"/><circle"
                + " class=\"p c0\" cx=\"%.1f\" cy=\"7\" r=\"4\"/></svg>", least, most, median);
    }

    private static JsonNode ratio(JsonNode row) {
        return row.hasNonNull("ratioTo") ? TextNode.valueOf(Html.number(row.path("ratioMedian").asDouble()) + " of "
                + row.path("ratioTo").asText() + " (" + Html.number(row.path("ratioMin").asDouble()) + " to "
                + Html.number(row.path("ratioMax").asDouble()) + ')') : TextNode.valueOf("");
    }

    /** Adds a table of all rows and columns. A long table is collapsed until the reader opens it. */
    void all(JsonNode rows) {
        Set<String> columns = new LinkedHashSet<>();
        rows.forEach(row -> row.fieldNames().forEachRemaining(columns::add));
        if (columns.removeAll(RATIO_COLUMNS)) {
            columns.add(RATIO);
        }
        List<String> order = new ArrayList<>(columns);
        boolean large = rows.size() > LARGE;
        html.append(large ? "<details><summary>all " + rows.size() + " rows</summary>" : "")
                .append("<div class=\"t\"><table><thead><tr>");
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
        html.append("</tbody></table></div>").append(large ? "</details>" : "").append('\n');
    }
}
