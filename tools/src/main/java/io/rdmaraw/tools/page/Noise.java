package io.rdmaraw.tools.page;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.report.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * How quiet the machine is: the same work is timed over and over, and what the hypervisor took is read. A figure cannot
 * be better than that.
 */
final class Noise {
    private static final int TRIES = 200;
    private static final int WARM_UP_TRIES = 50;
    private static final int STEPS = 2_000_000;
    private static final int STEAL_FIELD = 8;
    /** Keeps the compiler from leaving the work out. */
    private static volatile long sink;

    private final long[] startTicks = ticks();
    private final ObjectNode before = sample();

    /** What there was between the making of this and now. */
    ObjectNode toJson() {
        ObjectNode noise = Json.object();
        noise.set("before", before);
        noise.set("after", sample());
        long[] now = ticks();
        double all = now[0] - startTicks[0];
        noise.put("stolenPercent", Json.rounded(all == 0 ? 0 : 100 * (now[1] - startTicks[1]) / all));
        return noise;
    }

    private static ObjectNode sample() {
        double[] millis = new double[TRIES];
        for (int i = -WARM_UP_TRIES; i < TRIES; i++) {
            long start = System.nanoTime();
            sink = work(i);
            if (i >= 0) {
                millis[i] = (System.nanoTime() - start) / 1e6;
            }
        }
        Arrays.sort(millis);
        return Json.object().put("sameWorkMinMillis", Json.rounded(millis[0]))
                .put("sameWorkMedianMillis", Json.rounded(millis[TRIES / 2]))
                .put("sameWork99PercentMillis", Json.rounded(millis[TRIES * 99 / 100]))
                .put("sameWorkMaxMillis", Json.rounded(millis[TRIES - 1]));
    }

    /** Each step needs the one before it: nothing to reorder, nothing to leave out. */
    private static long work(long seed) {
        long value = seed;
        for (int i = 0; i < STEPS; i++) {
            value = value * 6_364_136_223_846_793_005L + 1_442_695_040_888_963_407L;
        }
        return value;
    }

    /** All ticks of all cores, and those of them that the hypervisor took; zeros where the system does not tell. */
    private static long[] ticks() {
        try {
            String[] fields = Files.readAllLines(Path.of("/proc/stat")).getFirst().trim().split("\\s+");
            long all = 0;
            for (int i = 1; i < Math.min(fields.length, STEAL_FIELD + 1); i++) {
                all += Long.parseLong(fields[i]);
            }
            return new long[] {all, Long.parseLong(fields[STEAL_FIELD])};
        } catch (IOException | RuntimeException e) {
            return new long[2];
        }
    }
}
