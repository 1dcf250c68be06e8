package io.rdmaraw.tools.pktgen;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.output.Json;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.Map;

/**
 * The result of a transmission or reception.
 *
 * @param direction  "tx" or "rx"
 * @param frameBytes bytes of all frames, without FCS
 * @param dropped    for a reception, frames that the channel or the device of softverbs dropped; for a transmission on
 *                   softverbs, frames that matched no rule
 * @param counts     counters of softverbs that changed during the run
 */
record TrafficResult(String direction, String device, long frames, long frameBytes, long dropped, double seconds,
        Map<String, Long> counts) {

    private double megaframesPerSecond() {
        return seconds == 0 ? 0 : frames / seconds / 1e6;
    }

    private double gigabitsPerSecond() {
        return seconds == 0 ? 0 : frameBytes * 8 / seconds / 1e9;
    }

    /**
     * Prints the result of a transmission.
     *
     * @param rateReached reached share of the requested rate, or 0
     */
    void print(PrintWriter out, boolean json, double rateReached) {
        if (json) {
            ObjectNode result = toJson();
            if (rateReached > 0) {
                result.put("rateReachedPercent", Json.rounded(100 * rateReached));
            }
            Json.print(out, result);
        } else {
            print(out, false, null);
        }
    }

    /**
     * Prints the result of a reception.
     *
     * @param probeOrNull measurements of frames with probes
     */
    void print(PrintWriter out, boolean json, ProbeReader probeOrNull) {
        if (json) {
            ObjectNode result = toJson();
            if (probeOrNull != null) {
                probeOrNull.addTo(result);
            }
            Json.print(out, result);
            return;
        }
        out.println(String.format(Locale.ROOT, "%s %s: %,d frames, %,d bytes, %,d %s in %.3f s: %.3f Mframe/s,"
                + " %.3f Gbit/s", direction, device, frames, frameBytes, dropped,
                direction.equals("tx") ? "unmatched" : "dropped", seconds, megaframesPerSecond(), gigabitsPerSecond()));
        if (probeOrNull != null) {
            out.println("  " + probeOrNull.toText());
        }
        counts.forEach((name, count) -> out.println(String.format(Locale.ROOT, "  %-24s %,d", name, count)));
        out.flush();
    }

    private ObjectNode toJson() {
        ObjectNode result = Json.object().put("direction", direction).put("device", device).put("frames", frames)
                .put("bytes", frameBytes).put("dropped", dropped).put("seconds", Json.rounded(seconds))
                .put("mfps", Json.rounded(megaframesPerSecond())).put("gbps", Json.rounded(gigabitsPerSecond()));
        ObjectNode node = result.putObject("counts");
        counts.forEach(node::put);
        return result;
    }
}
