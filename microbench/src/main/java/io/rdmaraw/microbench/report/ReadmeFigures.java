package io.rdmaraw.microbench.report;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmaraw.tools.command.ToolException;
import java.util.List;
import java.util.Locale;

/** Replaces the figures between two marker comments of a Markdown file by those of a report. */
final class ReadmeFigures {
    private static final String BEGIN = "<!-- figures: made by ./rdma-raw report, do not edit -->\n";
    private static final String END = "<!-- end of figures -->";

    private ReadmeFigures() {
    }

    /**
     * Replaces the figures of a Markdown text by those of a report.
     *
     * @throws ToolException if the text does not contain the marker comments
     */
    static String replaceIn(String markdown, Report report) {
        int begin = markdown.indexOf(BEGIN);
        int end = markdown.indexOf(END);
        if (begin < 0 || end < begin) {
            throw new ToolException("the file has no place for figures: it needs the lines '" + BEGIN.strip()
                    + "' and '" + END + '\'');
        }
        return markdown.substring(0, begin + BEGIN.length()) + markdown(report) + markdown.substring(end);
    }

    /** Returns the text that belongs between the marker comments. */
    static String markdown(Report report) {
        StringBuilder text = new StringBuilder("| | median | compared with | ratio | spread |\n"
                + "|---|--:|---|--:|--:|\n");
        for (KeyFigures.Figure figure : KeyFigures.of(report)) {
            text.append("| ").append(figure.what()).append(" | ").append(figure.value()).append(" | ")
                    .append(figure.to()).append(" | ")
                    .append(figure.ratio() == 0 ? "" : "**" + Html.number(figure.ratio()) + "**").append(" | ")
                    .append(figure.spread()).append(" |\n");
        }
        List<String> failed = report.results().stream().filter(result -> result.result() == null)
                .map(MeasurementResult::name).toList();
        List<String> inPart = report.results().stream().filter(MeasurementResult::isInPart)
                .map(MeasurementResult::name).toList();
        text.append("\nMeasured ").append(report.date()).append(" by `").append(report.command()).append("` on ")
                .append(machine(report.machine())).append(". ").append(noise(report));
        text.append(failed.isEmpty() ? "" : "Not measured there: " + String.join(", ", failed)
                + "; the page says why.\n");
        text.append(inPart.isEmpty() ? "" : "Measured in part: " + String.join(", ", inPart)
                + "; the page says what is missing.\n");
        return text.toString();
    }

    private static String machine(JsonNode machine) {
        return machine.path("cpu").asText() + " (" + machine.path("cores").asInt() + " cores), Linux "
                + machine.path("kernel").asText();
    }

    /** Returns one line, with a line feed, that quantifies the disturbances of the measurements. */
    static String noise(Report report) {
        JsonNode before = report.noise().path("before");
        if (before.isMissingNode()) {
            return "How quiet the machine was is not known.\n";
        }
        JsonNode after = report.noise().path("after");
        return String.format(Locale.ROOT, "Noise: load %.1f before it began; work of %.0f us was held up for %,.0f us"
                + " at most before, for %,.0f us after; the hypervisor took %.1f %% of the processor time.%n",
                report.machine().path("loadAverage").asDouble(), 1e3 * before.path("sameWorkMedianMillis").asDouble(),
                stallMicros(before), stallMicros(after), report.noise().path("stolenPercent").asDouble());
    }

    /**
     * Returns the longest delay of the repeated work, in microseconds. A ratio would mislead, because the work is
     * short: a single pause of the machine can be a hundred times as long.
     */
    private static double stallMicros(JsonNode sample) {
        return 1e3 * Math.max(0, sample.path("sameWorkMaxMillis").asDouble()
                - sample.path("sameWorkMedianMillis").asDouble());
    }
}
