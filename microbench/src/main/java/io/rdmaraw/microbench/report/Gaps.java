package io.rdmaraw.microbench.report;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/** Lists the figures that are missing in a report, with the reasons. */
final class Gaps {
    /** Minimum number of ratios for a meaningful spread. */
    private static final int MIN_RUNS = 3;

    /**
     * A missing part of a report.
     *
     * @param measurement name of the measurement
     * @param what        description of the missing part
     * @param reason      reason for the reader, without a full stop
     */
    record Gap(String measurement, String what, String reason) {
    }

    private Gaps() {
    }

    static List<Gap> of(Report report) {
        List<Gap> gaps = new ArrayList<>();
        for (MeasurementResult result : report.results()) {
            if (result.failure() != null) {
                gaps.add(new Gap(result.name(), result.isInPart() ? "the rest of it" : "all of it", result.failure()));
            }
            if (result.result() != null) {
                result.result().path("notMeasured").forEach(each -> gaps.add(new Gap(result.name(),
                        each.path("what").asText(), each.path("reason").asText())));
            }
            long few = Report.stream(result.rows()).filter(Gaps::hasFewRuns).count();
            if (few > 0) {
                gaps.add(new Gap(result.name(), "the spread of " + few + " comparisons",
                        "they have fewer than " + MIN_RUNS + " runs"));
            }
        }
        KeyFigures.missing(report, (measurement, what) -> gaps.add(new Gap(measurement, what,
                "no row of " + measurement + " has it")));
        return gaps;
    }

    private static boolean hasFewRuns(JsonNode row) {
        return row.hasNonNull("ratioTo") && row.path("runs").asInt() < MIN_RUNS;
    }
}
