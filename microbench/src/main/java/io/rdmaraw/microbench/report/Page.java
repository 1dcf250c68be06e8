package io.rdmaraw.microbench.report;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** Renders a report as one HTML document without external resources. */
final class Page {
    private static final double BUSY_SHARE = 0.25;
    private static final List<String> USERS_ORDER = List.of("http", "dns", "udp", "tcp");

    private final Report report;
    private final StringBuilder html = new StringBuilder();
    private final RowTables tables = new RowTables(html);
    private String lastHeading = "";

    Page(Report report) {
        this.report = report;
    }

    String render(String style) {
        html.append("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\""
                + " content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">"
                + "<title>netty-transport-rdma-raw: measured</title><style>").append(style)
                .append("</style></head><body><main>\n<h1>netty-transport-rdma-raw, measured</h1>\n");
        environment();
        contents();
        keyFigures();
        gaps();
        html.append("<h2 id=\"side-by-side\">Side by side</h2>\n<p>Everything that is compared with something. A ratio"
                + " compares two runs that followed each other; above 1 is better than the one it is compared with, for"
                + " costs and for rates alike. The line spans the ratios of all runs, from a tenth to ten"
                + " times.</p>\n");
        usersFirst().forEach(tables::comparisons);
        usersFirst().forEach(this::section);
        html.append("</main></body></html>\n");
        return html.toString();
    }

    private void environment() {
        JsonNode machine = report.machine();
        JsonNode versions = report.versions();
        double load = machine.path("loadAverage").asDouble();
        int cores = machine.path("cores").asInt();
        html.append("<dl>");
        term("When", report.date());
        term("How", report.command());
        term("Machine", machine.path("cpu").asText() + ", " + cores + " cores, " + machine.path("memory").asText()
                + ", " + machine.path("os").asText() + ", Linux " + machine.path("kernel").asText());
        term("Versions", "Java " + versions.path("java").asText() + " (" + versions.path("vm").asText() + "), Netty "
                + versions.path("netty").asText());
        term("Quiet?", ReadmeFigures.noise(report).replaceFirst("^Noise: ", ""));
        html.append("</dl>\n");
        if (load > cores * BUSY_SHARE) {
            html.append(String.format(Locale.ROOT, "<p class=\"w\">Other programs wanted %.1f of the %d cores when this"
                    + " began: the figures tell of them too. Compare ratios, which were taken in pairs, and mind their"
                    + " spread.</p>%n", load, cores));
        }
    }

    private void term(String term, String text) {
        html.append("<dt>").append(term).append("</dt><dd>").append(Html.escape(text.strip())).append("</dd>");
    }

    private static String headingOf(MeasurementResult result) {
        // Runs of the same command with different options share a heading.
        return result.name().replaceFirst("\\..*", "");
    }

    /**
     * Returns the results in the order of the page. The results that concern most users come first: HTTP, DNS, UDP and
     * TCP. Results for developers of the transport follow.
     */
    private List<MeasurementResult> usersFirst() {
        return report.results().stream().sorted(Comparator.comparingInt(result -> {
            int place = USERS_ORDER.indexOf(headingOf(result));
            return place < 0 ? USERS_ORDER.size() : place;
        })).toList();
    }

    private void contents() {
        Set<String> headings = new LinkedHashSet<>();
        usersFirst().forEach(result -> headings.add(headingOf(result)));
        html.append("<nav>");
        headings.forEach(heading -> html.append("<a href=\"#").append(Html.escape(heading)).append("\">")
                .append(Html.escape(heading)).append("</a> "));
        html.append("</nav>\n");
    }

    private void keyFigures() {
        List<KeyFigures.Figure> figures = KeyFigures.of(report);
        if (figures.isEmpty()) {
            return;
        }
        html.append("<h2 id=\"figures\">In short</h2>\n<p>A ratio above 1 is better than what it is compared with; rows"
                + " where it is worse are red. A ratio is the median of the ratios of runs in pairs, which need not be"
                + " that of the medians.</p>\n<div class=\"t\"><table class=\"key\"><thead><tr><th>"
                + "<th class=\"n\">ratio<th class=\"n more\">median<th>compared with<th class=\"n more\">spread</tr>"
                + "</thead><tbody>\n");
        for (KeyFigures.Figure figure : figures) {
            String verdict = figure.ratio() == 0 ? "" : RowTables.verdict(figure.ratio());
            html.append("<tr class=\"").append(verdict).append("\"><td>").append(Html.escape(figure.what()))
                    .append("<small>").append(Html.escape(figure.meaning()))
                    .append("</small><small class=\"less\">").append(Html.escape(figure.value()))
                    .append("</small><td class=\"n ")
                    .append(verdict).append("\">").append(figure.ratio() == 0 ? "" : Html.number(figure.ratio()))
                    .append("<td class=\"n more\">").append(Html.escape(figure.value())).append("<td>")
                    .append(Html.escape(figure.to())).append("<td class=\"n more\">")
                    .append(Html.escape(figure.spread())).append("</tr>\n");
        }
        html.append("</tbody></table></div>\n");
    }

    private void gaps() {
        List<Gaps.Gap> gaps = Gaps.of(report);
        if (gaps.isEmpty()) {
            return;
        }
        html.append("<h2 id=\"gaps\">Not measured</h2>\n<ul class=\"w\">");
        for (Gaps.Gap gap : gaps) {
            html.append("<li><b>").append(Html.escape(gap.measurement())).append("</b>, ")
                    .append(Html.escape(gap.what())).append(": ").append(Html.escape(gap.reason())).append("</li>\n");
        }
        html.append("</ul>\n");
    }

    private void section(MeasurementResult result) {
        String heading = headingOf(result);
        if (!heading.equals(lastHeading)) {
            html.append("<h2 id=\"").append(Html.escape(heading)).append("\">").append(Html.escape(heading))
                    .append("</h2>\n<p>").append(Html.escape(result.serves())).append("</p>\n");
            lastHeading = heading;
            charts(Charts.ofAll(heading, report.results()));
        }
        html.append("<p><code>").append(Html.escape(result.command())).append("</code> ")
                .append(String.format(Locale.ROOT, "%.0f s", result.seconds())).append("</p>\n");
        if (result.failure() != null) {
            html.append("<p class=\"w\">").append(result.isInPart() ? "Not all of it was measured: " : "Not measured: ")
                    .append(Html.escape(result.failure())).append("</p>\n");
        }
        if (result.result() == null) {
            return;
        }
        charts(Charts.of(result.result()));
        tables.all(result.rows());
    }

    private void charts(List<Chart> charts) {
        if (charts.isEmpty()) {
            return;
        }
        html.append("<div class=\"charts\">\n");
        for (Chart chart : charts) {
            html.append(chart.isWide() ? "<figure class=\"wide\">" : "<figure>").append(chart.svg())
                    .append("</figure>\n");
        }
        html.append("</div>\n");
    }
}
