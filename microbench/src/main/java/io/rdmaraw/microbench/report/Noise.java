package io.rdmaraw.microbench.report;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmaraw.tools.output.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Measures the noise of the machine, which limits the precision of all figures. It times the same work repeatedly and
 * reads the time that the hypervisor took.
 */
final class Noise {
    private static final int TRIES = 200;
    private static final int WARM_UP_TRIES = 50;
    private static final int STEPS = 2_000_000;
    private static final int STEAL_FIELD = 8;
    /** A result that escapes, so that the compiler cannot remove the work. */
    private static volatile long sink;

    private final long[] startTicks = ticks();
    private final ObjectNode before = sample();

    /** Returns the noise before and after the measurements, and the stolen time since this object was created. */
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

    /**
     * Performs a fixed amount of work. Each step depends on the previous one, so that the compiler can neither reorder
     * nor remove any.
     */
    private static long work(long seed) {
        long value = seed;
        for (int i = 0; i < STEPS; i++) {
            value = value * 6_364_136_223_846_793_005L + 1_442_695_040_888_963_407L;
        }
        return value;
    }

    /**
     * Returns the ticks of all cores, and the part of them that the hypervisor took. Returns zeros if
     * {@code /proc/stat} does not contain them.
     */
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
