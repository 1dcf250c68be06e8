package io.rdmaraw.microbench.report;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Creates the charts of the README, which compare this transport with Netty's epoll in pairs of bars. Each chart is a
 * separate SVG file for light and for dark pages, since Markdown has no styles.
 */
final class ReadmeCharts {
    private static final String OURS = "rdma-raw";
    private static final String OTHER = "epoll";
    /** Suffix of a rival with tuned settings. */
    private static final String TUNED = "-tuned";
    private static final int WIDTH = 480;
    private static final int LEFT = 118;
    private static final int RIGHT = 84;
    private static final int TOP = 56;
    private static final int BAR = 16;
    private static final int STEP = 46;

    /** A pair of bars, one for each transport. */
    private record Pair(String label, String bench, String caseName) {
        /**
         * Returns the median of a transport. For the rival, this is the median of its stronger form: stock or tuned,
         * according to the ratio to this transport.
         */
        OptionalDouble median(Report report, String transport) {
            return medianOf(report, transport.equals(OURS) ? OURS : report.rows(bench)
                    .filter(row -> row.path("case").asText().equals(caseName)
                            && List.of(transport, transport + TUNED).contains(row.path("ratioTo").asText()))
                    .min(Comparator.comparingDouble(row -> row.path("ratioMedian").asDouble()))
                    .map(row -> row.path("ratioTo").asText()).orElse(transport));
        }

        private OptionalDouble medianOf(Report report, String transport) {
            Optional<JsonNode> row = report.rows(bench).filter(each -> each.path("case").asText().equals(caseName)
                    && each.path("transport").asText().equals(transport)).findFirst();
            return row.isEmpty() ? OptionalDouble.empty() : OptionalDouble.of(row.get().path("median").asDouble());
        }

        boolean isIn(Report report) {
            return median(report, OURS).isPresent() && median(report, OTHER).isPresent();
        }
    }

    private record Picture(String name, String title, List<Pair> pairs) {
    }

    private static final List<Picture> PICTURES = List.of(
            new Picture("answers", "Answers per second of the server's processor time", List.of(
                    new Pair("HTTP, 64 conns", "http", "http.plaintext.conns64.perServerCpu"),
                    new Pair("DNS", "dns", "dns.perServerCpu"))),
            new Picture("latency", "HTTP latency at 90 % load, us", List.of(
                    new Pair("half wait less", "http", "http.paced.conns64.load90.p50"),
                    new Pair("99 % wait less", "http", "http.paced.conns64.load90.p99"))));

    /** A colour scheme. The colours are those of the title, of the labels, of this transport and of the rival. */
    private enum Theme {
        LIGHT("#1c2330", "#5c6675", "#2563c9", "#8b93a1"), DARK("#e6e9ee", "#9aa4b2", "#6ea2ff", "#7d8694");

        private final String style;

        Theme(String ink, String soft, String ours, String other) {
            style = "text { fill: " + soft + "; font: 12px system-ui, sans-serif; } text.t { fill: " + ink
                    + "; font-weight: 600; font-size: 13.5px; } .c0 { fill: " + ours + "; } .c7 { fill: " + other
                    + "; }";
        }
    }

    private ReadmeCharts() {
    }

    /** Returns the charts by file name. Charts without any figures in the report are omitted. */
    static Map<String, String> of(Report report) {
        Map<String, String> files = new LinkedHashMap<>();
        for (Picture picture : PICTURES) {
            List<Pair> measured = picture.pairs().stream().filter(pair -> pair.isIn(report)).toList();
            for (Theme theme : measured.isEmpty() ? new Theme[0] : Theme.values()) {
                files.put(picture.name() + '-' + theme.name().toLowerCase(Locale.ROOT) + ".svg",
                        svg(report, picture.title(), measured, theme));
            }
        }
        return files;
    }

    private static String svg(Report report, String title, List<Pair> pairs, Theme theme) {
        List<Double> values = pairs.stream().flatMap(pair -> List.of(OURS, OTHER).stream()
                .map(transport -> pair.median(report, transport).orElseThrow())).toList();
        Axis axis = Axis.of(values, LEFT, WIDTH - RIGHT, false);
        int height = TOP + STEP * pairs.size();
        StringBuilder svg = new StringBuilder("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + WIDTH
                + "\" height=\"" + height + "\" viewBox=\"0 0 " + WIDTH + ' ' + height + "\" role=\"img\"><title>"
                + Html.escape(title) + "</title><style>" + theme.style + "</style>\n");
        LineChart.text(svg, 0, 16, "start", "t", title);
        legend(svg, LEFT, 0, "this transport");
        legend(svg, LEFT + 120, 7, "Netty's epoll");
        svg.append('\n');
        for (int i = 0; i < pairs.size(); i++) {
            int y = TOP + STEP * i;
            LineChart.text(svg, LEFT - 10, y + BAR + 4, "end", "a", pairs.get(i).label());
            bar(svg, axis, y, 0, pairs.get(i).median(report, OURS).orElseThrow());
            bar(svg, axis, y + BAR + 2, 7, pairs.get(i).median(report, OTHER).orElseThrow());
            svg.append('\n');
        }
        return svg.append("</svg>\n").toString();
    }

    private static void legend(StringBuilder svg, int x, int colour, String name) {
        svg.append("<rect class=\"c").append(colour).append("\" x=\"").append(x)
                .append("\" y=\"28\" width=\"11\" height=\"11\"/>");
        LineChart.text(svg, x + 16, 38, "start", "a", name);
    }

    private static void bar(StringBuilder svg, Axis axis, int y, int colour, double value) {
        svg.append(String.format(Locale.ROOT, "<rect class=\"c%d\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>",
                colour, axis.from(), y, axis.place(value) - axis.from(), BAR));
        LineChart.text(svg, axis.place(value) + 8, y + 13, "start", "a", Html.number(value));
    }
}
