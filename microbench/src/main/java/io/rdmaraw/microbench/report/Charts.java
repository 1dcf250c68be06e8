package io.rdmaraw.microbench.report;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Chooses the charts for results by the form of their rows, not by the names of benches.
 *
 * <p>A case name may contain a word with a number, such as {@code rx.burst64}. Such a case becomes a point of a line
 * over that number. Rows in nanoseconds with a reference are shown as a cost in two parts.
 */
final class Charts {
    private static final Pattern NUMBERED =
            Pattern.compile("(.*?)[. ]?(burst|window|conns|connections|clients|flows|pipeline|length|size|bytes)"
                    + "=?(\\d+)(.*)");
    private static final String JMH = "jmh";
    private static final String MICROSECONDS = "us";
    private static final String[] PERCENTILES = {"t_min", "t_typical", "percentile_99", "percentile_99.9",
        "percentile_99.99", "t_max"};
    private static final String[] PERCENTILE_LABELS = {"min", "50 %", "99 %", "99.9 %", "99.99 %", "max"};

    private Charts() {
    }

    /** Returns the charts of one result. */
    static List<Chart> of(JsonNode result) {
        List<Chart> charts = new ArrayList<>();
        JsonNode rows = result.path("rows");
        if (result.has("test_info")) {
            if (rows.path(0).has("t_min")) {
                charts.add(percentiles(rows));
            }
            return charts;
        }
        if (rows.path(0).path("transport").asText().equals(JMH)) {
            charts.add(CostSplits.byWork(rows));
        } else {
            charts.addAll(lines(rows));
            charts.addAll(sideBySide(rows));
            charts.add(CostSplits.beyondReference(rows));
        }
        return charts.stream().filter(Chart::isWorthDrawing).toList();
    }

    /** Returns the charts that combine several results under the same heading. */
    static List<Chart> ofAll(String heading, List<MeasurementResult> results) {
        Chart throughput = throughput(results.stream().filter(result -> result.name().startsWith(heading + '.'))
                .toList());
        return throughput.isWorthDrawing() ? List.of(throughput) : List.of();
    }

    private static List<LineChart> lines(JsonNode rows) {
        Map<String, LineChart> charts = new LinkedHashMap<>();
        Set<String> devices = new LinkedHashSet<>(rows.findValuesAsText("device"));
        for (JsonNode row : rows) {
            Matcher matcher = NUMBERED.matcher(row.path("case").asText());
            String unit = row.path("unit").asText();
            if (!matcher.matches() || unit.startsWith("B/") || unit.startsWith("%")) {
                continue;
            }
            String what = matcher.group(1) + matcher.group(4);
            String word = matcher.group(2);
            // Times range from one microsecond to a second. On a linear axis the short ones would be indistinguishable.
            LineChart chart = charts.computeIfAbsent(what + word + unit, key -> new LineChart(what,
                    word.equals("conns") ? "connections" : word, unit, unit.equals(MICROSECONDS)));
            String line = row.path("transport").asText() + (devices.size() > 1 ? ' ' + row.path("device").asText()
                    : "");
            chart.add(line, new LineChart.Point(Double.parseDouble(matcher.group(3)), matcher.group(3),
                    row.path("min").asDouble(), row.path("median").asDouble(), row.path("max").asDouble()));
        }
        return List.copyOf(charts.values());
    }

    /** Returns charts of the cases that are not points of a line, with one bar for each transport. */
    private static List<StackedBars> sideBySide(JsonNode rows) {
        Map<String, StackedBars> charts = new LinkedHashMap<>();
        Set<String> onLines = onLines(rows);
        for (JsonNode row : rows) {
            String what = row.path("case").asText();
            String unit = row.path("unit").asText();
            if (!onLines.contains(what) && !unit.startsWith("B/")) {
                charts.computeIfAbsent(what + unit, key -> new StackedBars(what, unit, List.of(unit))).add(
                        row.path("transport").asText() + ' ' + row.path("device").asText(),
                        List.of(row.path("median").asDouble()));
            }
        }
        return List.copyOf(charts.values());
    }

    /** Returns the cases that form lines. A line needs cases with at least two different numbers. */
    private static Set<String> onLines(JsonNode rows) {
        Map<String, Set<String>> byLine = new LinkedHashMap<>();
        for (JsonNode row : rows) {
            Matcher matcher = NUMBERED.matcher(row.path("case").asText());
            if (matcher.matches()) {
                byLine.computeIfAbsent(matcher.group(1) + matcher.group(2) + matcher.group(4) + row.path("transport")
                        .asText() + row.path("device").asText(), key -> new LinkedHashSet<>()).add(matcher.group());
            }
        }
        Set<String> cases = new LinkedHashSet<>();
        byLine.values().stream().filter(numbers -> numbers.size() > 1).forEach(cases::addAll);
        return cases;
    }

    private static Chart percentiles(JsonNode rows) {
        LineChart chart = new LineChart("latency", "percentile", "microseconds", true);
        for (JsonNode row : rows) {
            for (int i = 0; i < PERCENTILES.length; i++) {
                double value = row.path(PERCENTILES[i]).asDouble();
                chart.add("from the " + row.path("from").asText(), new LineChart.Point(i, PERCENTILE_LABELS[i], value,
                        value, value));
            }
        }
        return chart;
    }

    /** Returns the throughput over the burst length, from several runs of {@code bw}. */
    private static Chart throughput(List<MeasurementResult> runs) {
        LineChart chart = new LineChart("throughput without a pipeline", "frames posted with one doorbell",
                "million frames/s", false);
        for (MeasurementResult run : runs) {
            if (run.result() == null || !run.result().path("test_info").path("test").asText().contains("BW")) {
                continue;
            }
            int burst = run.result().path("test_info").path("Post_List").asInt();
            for (JsonNode row : run.result().path("rows")) {
                double rate = row.path("MsgRate").asDouble();
                chart.add(row.path("side").asText().equals("client") ? "sent" : "received", new LineChart.Point(burst,
                        Integer.toString(burst), rate, rate, rate));
            }
        }
        return chart;
    }
}
