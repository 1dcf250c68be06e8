package io.rdmaraw.microbench.server;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmaraw.tools.command.ToolException;
import java.time.LocalDate;
import java.util.Locale;

/** Writes the result of {@code bench rivals} between two marker comments of a Markdown page. */
final class RivalsPage {
    private static final String BEGIN = "<!-- sweep: made by ./rdma-raw bench rivals, do not edit -->\n";
    private static final String END = "<!-- end of sweep -->";

    private RivalsPage() {
    }

    /**
     * Checks that a page contains the two marker comments.
     *
     * @throws ToolException if it does not
     */
    static void requireSection(String markdown) {
        int begin = markdown.indexOf(BEGIN);
        if (begin < 0 || markdown.indexOf(END) < begin) {
            throw new ToolException("the page has no place for the sweep: it needs the lines '" + BEGIN.strip()
                    + "' and '" + END + '\'');
        }
    }

    /** Returns the page with the rows of a report between the marker comments. */
    static String replaceIn(String markdown, JsonNode report, int runs, boolean quick) {
        requireSection(markdown);
        return markdown.substring(0, markdown.indexOf(BEGIN) + BEGIN.length()) + text(report, runs, quick)
                + markdown.substring(markdown.indexOf(END));
    }

    private static String text(JsonNode report, int runs, boolean quick) {
        StringBuilder text = new StringBuilder("| load | setting | answers/s | ratio | spread | per CPU second |"
                + " spread | effect |\n|---|---|--:|--:|--:|--:|--:|---|\n");
        for (JsonNode row : report.path("rows")) {
            if (row.hasNonNull("ratioTo") && name(row).endsWith(Measure.RATE.suffix())) {
                JsonNode perCpu = perCpu(report, row);
                text.append(String.format(Locale.ROOT, "| %s | %s | %,.0f | %s | %s | %s | %s | %s |%n", load(row),
                        row.path("transport").asText().replace("+", " "), row.path("median").asDouble(),
                        ratio(row, "ratioMedian"), spread(row), ratio(perCpu, "ratioMedian"), spread(perCpu),
                        effect(row)));
            }
        }
        for (JsonNode missing : report.path("notMeasured")) {
            text.append("\nNot measured: ").append(missing.path("what").asText()).append(": ")
                    .append(missing.path("reason").asText().lines().findFirst().orElse("")).append('\n');
        }
        JsonNode machine = report.path("machine");
        return text.append(String.format(Locale.ROOT, "%nMeasured %s by `./rdma-raw bench rivals%s`, %d pairs each, on"
                + " %s (%d cores), Linux %s, load %.1f.%n", LocalDate.now(), quick ? " --quick" : "", runs,
                machine.path("cpu").asText(), machine.path("cores").asInt(), machine.path("kernel").asText(),
                machine.path("loadAverage").asDouble())).toString();
    }

    private static String name(JsonNode row) {
        return row.path("case").asText();
    }

    private static String load(JsonNode row) {
        return name(row).substring(0, name(row).length() - Measure.RATE.suffix().length());
    }

    private static JsonNode perCpu(JsonNode report, JsonNode rate) {
        for (JsonNode row : report.path("rows")) {
            if (row.hasNonNull("ratioTo") && name(row).equals(load(rate) + Measure.PER_SERVER_CPU.suffix())
                    && row.path("transport").equals(rate.path("transport"))) {
                return row;
            }
        }
        return report.path("none");
    }

    private static String spread(JsonNode row) {
        return row.isMissingNode() ? "" : ratio(row, "ratioMin") + ".." + ratio(row, "ratioMax");
    }

    /** Formats a ratio. CPU time below the resolution of the kernel's counters can be measured as less than none. */
    private static String ratio(JsonNode row, String which) {
        double ratio = row.path(which).asDouble();
        return row.isMissingNode() ? "" : ratio <= 0 ? "?" : String.format(Locale.ROOT, "%.2f", ratio);
    }

    /** Describes the effect of a setting. It is clear only if the ratios of all pairs are on the same side of 1. */
    private static String effect(JsonNode row) {
        return row.path("ratioMin").asDouble() > 1 ? "gain" : row.path("ratioMax").asDouble() < 1 ? "loss" : "unclear";
    }
}
