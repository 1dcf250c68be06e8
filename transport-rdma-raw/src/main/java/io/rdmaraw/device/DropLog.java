package io.rdmaraw.device;

import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetric;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Says once for each reason that a device drops frames, and what to do about it; from then on they are only counted.
 * So a server that no client reaches is not silent, and no sender can fill the log. It reads the counters at most
 * once a second, so that a frame costs nothing. Used by the loop of one queue.
 */
final class DropLog {
    /** Fewer may be an accident. A client that gets no answer has sent as many SYNs within three seconds. */
    static final int SERIES = 3;
    /** What is farther apart is no series: a server that runs for months meets each accident sometime. */
    static final long SERIES_NANOS = TimeUnit.MINUTES.toNanos(1);
    static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** The most channels that are looked at in one turn: a loop may have very many. */
    static final int CHANNELS_PER_TURN = 64;

    private final String deviceName;
    private final RdmaRawMetered port;
    private final Supplier<Iterator<RdmaRawMetered>> channels;
    private final Set<String> told;
    private final Consumer<String> out;
    /** Of those who have dropped anything, by reasons that have not been told. */
    private final Map<RdmaRawMetered, Map<String, Series>> series = new WeakHashMap<>();
    private Iterator<RdmaRawMetered> nextChannels;
    private long nextTurnNanos;

    /** Drops that came soon after each other. */
    private static final class Series {
        private long begunNanos;
        private long countBefore;
        private long lastCount;

        /** Returns how many drops the series has by now. */
        long drops(long count, long nowNanos) {
            if (count > lastCount && nowNanos - begunNanos > SERIES_NANOS) {
                begunNanos = nowNanos;
                countBefore = lastCount;
            }
            lastCount = count;
            return count - countBefore;
        }
    }

    /**
     * The log of one queue.
     *
     * @param port counts what happens to frames before they are for a channel
     * @param channels goes through the counts of the channels there are
     * @param told the reasons that have been told of the device; all its queues have the same, a concurrent set
     * @param out takes the lines
     */
    DropLog(String deviceName, RdmaRawMetered port, Supplier<Iterator<RdmaRawMetered>> channels, Set<String> told,
            Consumer<String> out, long nowNanos) {
        this.deviceName = deviceName;
        this.port = port;
        this.channels = channels;
        this.told = told;
        this.out = out;
        nextTurnNanos = nowNanos + INTERVAL_NANOS;
    }

    /** Looks at the counters unless it has done so within the last second. */
    void look(long nowNanos) {
        if (nowNanos - nextTurnNanos < 0) {
            return;
        }
        nextTurnNanos = nowNanos + INTERVAL_NANOS;
        look(port, nowNanos);
        if (nextChannels == null || !nextChannels.hasNext()) {
            nextChannels = channels.get();
        }
        for (int i = 0; i < CHANNELS_PER_TURN && nextChannels.hasNext(); i++) {
            look(nextChannels.next(), nowNanos);
        }
    }

    private void look(RdmaRawMetered counted, long nowNanos) {
        for (RdmaRawMetric metric : counted.metrics()) {
            String remedy = DropRemedies.of(metric.name());
            if (remedy != null && !told.contains(metric.name())) {
                long count = counted.value(metric);
                boolean enough = count > 0 && (metric.kind() == RdmaRawMetric.Kind.LEVEL
                        || seriesOf(counted, metric.name(), nowNanos).drops(count, nowNanos) >= SERIES);
                if (enough && told.add(metric.name())) {
                    out.accept(deviceName + ": " + metric.name() + ", " + count + " times so far ("
                            + metric.description() + "): " + remedy
                            + ". It is not logged again for this device; ./rdma-raw top and the metrics count it");
                }
            }
        }
    }

    private Series seriesOf(RdmaRawMetered counted, String reason, long nowNanos) {
        return series.computeIfAbsent(counted, any -> new HashMap<>()).computeIfAbsent(reason, any -> {
            Series begins = new Series();
            begins.begunNanos = nowNanos;
            return begins;
        });
    }
}
