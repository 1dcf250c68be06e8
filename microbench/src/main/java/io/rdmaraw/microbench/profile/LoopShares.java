package io.rdmaraw.microbench.profile;

import io.rdmaraw.tools.command.ToolException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Measures the share of each layer in the time of a process's event loops, with async-profiler. */
public final class LoopShares {
    private final AsyncProfiler profiler;

    private LoopShares(AsyncProfiler profiler) {
        this.profiler = profiler;
    }

    /** Returns an empty result if the launcher has not downloaded async-profiler. */
    public static Optional<LoopShares> find() {
        return AsyncProfiler.find().map(LoopShares::new);
    }

    /**
     * Samples a process.
     *
     * @param afterSeconds delay before the first sample
     * @param seconds      duration of the sampling
     * @return percent by layer in descending order; {@code handler} comprises the framework and the application
     */
    public Map<String, Double> sample(long pid, double afterSeconds, double seconds) {
        Path page = null;
        try {
            page = Files.createTempFile("rdma-raw-shares", ".html");
            TimeUnit.NANOSECONDS.sleep((long) (afterSeconds * 1e9));
            Map<String, Double> shares = new LinkedHashMap<>();
            for (Costs.Cost cost : new Costs(profiler.sample(pid, seconds, "shares", page)).layers()) {
                shares.put(cost.layer().name().toLowerCase(Locale.ROOT), cost.percent());
            }
            return shares;
        } catch (IOException e) {
            throw new ToolException("cannot profile process " + pid + ": " + e.getMessage(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Map.of();
        } finally {
            if (page != null) {
                page.toFile().delete();
            }
        }
    }
}
