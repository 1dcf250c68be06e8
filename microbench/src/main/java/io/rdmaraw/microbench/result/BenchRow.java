package io.rdmaraw.microbench.result;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.output.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * The result of one case on one transport.
 *
 * @param caseName  name of the case; it must not change, because scripts read it
 * @param transport transport or program, such as {@code rdma-raw} or {@code c}
 * @param device    device of the transport
 * @param unit      unit of the values, such as {@code ns/frame}
 * @param values    distribution of the values, one per run
 * @param ratioTo   reference of the ratios, or null
 * @param ratios    distribution of the ratios, one per run, or null; above 1 means better than {@code ratioTo}
 */
public record BenchRow(String caseName, String transport, String device, String unit, Distribution values,
        String ratioTo, Distribution ratios) {

    /** Returns a row without a reference. */
    public static BenchRow of(String caseName, String transport, String device, Unit unit, List<Double> values) {
        return new BenchRow(caseName, transport, device, unit.text(), Distribution.of(values), null, null);
    }

    /** Returns a row with a reference. The n-th value is compared with the n-th reference value. */
    public static BenchRow compared(String caseName, String transport, String device, Unit unit, List<Double> values,
            String ratioTo, List<Double> references) {
        if (values.size() != references.size()) {
            throw new IllegalArgumentException(values.size() + " runs cannot be compared with " + references.size());
        }
        List<Double> ratios = new ArrayList<>();
        for (int i = 0; i < values.size(); i++) {
            ratios.add(unit.ratio(values.get(i), references.get(i)));
        }
        return new BenchRow(caseName, transport, device, unit.text(), Distribution.of(values), ratioTo,
                Distribution.of(ratios));
    }

    /** Returns whether the other row has the same case, transport, device and reference. */
    boolean isOfSameSeries(BenchRow other) {
        return caseName.equals(other.caseName) && transport.equals(other.transport) && device.equals(other.device)
                && Objects.equals(ratioTo, other.ratioTo);
    }

    ObjectNode toJson() {
        ObjectNode row = Json.object();
        row.put("case", caseName).put("transport", transport).put("device", device).put("unit", unit);
        row.put("min", Json.rounded(values.min())).put("median", Json.rounded(values.median()));
        row.put("max", Json.rounded(values.max())).put("runs", values.runs());
        if (ratioTo != null) {
            row.put("ratioTo", ratioTo).put("ratioMin", Json.rounded(ratios.min()));
            row.put("ratioMedian", Json.rounded(ratios.median())).put("ratioMax", Json.rounded(ratios.max()));
        }
        return row;
    }

    String[] toText() {
        return new String[] {caseName, transport, device, text(values.min()), text(values.median()),
            text(values.max()), unit,
            ratioTo == null ? "" : text(ratios.median()) + " of " + ratioTo + " (" + text(ratios.min()) + ".."
                    + text(ratios.max()) + ')'};
    }

    private static String text(double value) {
        return String.format(java.util.Locale.ROOT, value < 10 ? "%.2f" : "%.1f", value);
    }

    /** The unit of a value, and whether a larger value is better. */
    public enum Unit {
        NANOS_PER_FRAME("ns/frame", false),
        MEGAFRAMES_PER_SECOND("Mframe/s", true),
        BYTES_PER_FRAME("B/frame", false),
        ROUND_TRIPS_PER_SECOND("round trips/s", true),
        BYTES_PER_DATAGRAM("B/datagram", false),
        MEGAREQUESTS_PER_SECOND("Mreq/s", true),
        BYTES_PER_SEGMENT("B/segment", false),
        BYTES_PER_CONNECTION("B/connection", false),
        MICROSECONDS("us", false),
        ANSWERS_PER_SECOND("answers/s", true),
        ANSWERS_PER_CPU_SECOND("answers/CPU s", true),
        GIGABITS_PER_SECOND("Gbit/s", true),
        GIGABYTES_PER_SECOND("GB/s", true),
        CONNECTIONS_PER_SECOND("connections/s", true),
        CONNECTIONS_PER_CPU_SECOND("connections/CPU s", true),
        PERCENT_OF_CORE("% of a core", false),
        PERCENT_OF_LOOP("% of the loop's time", false),
        PERCENT_WAITED("% of the time", false),
        PERCENT_KEPT("% kept", true),
        MEGABYTES_MORE("MB more", false),
        FRAMES_PER_SECOND("frames/s", true),
        TIMES_PER_SECOND("times/s", false),
        SLOTS_IN_USE("slots in use", false),
        HOSTILE_PEERS("peers", true);

        private final String text;
        private final boolean moreIsBetter;

        Unit(String text, boolean moreIsBetter) {
            this.text = text;
            this.moreIsBetter = moreIsBetter;
        }

        public String text() {
            return text;
        }

        double ratio(double value, double reference) {
            return moreIsBetter ? value / reference : reference / value;
        }
    }
}
