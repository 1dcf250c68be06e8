package io.rdmaraw.device;

import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetric;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Logs each reason for drops with a remedy, at most once an hour per device, so senders cannot fill the log. Reads the
 * counters at most once per second; frames cost nothing. Used by the loop of one queue.
 */
final class DropLog {
    /**
     * Minimum number of drops in a series. Fewer may be an accident. A client without an answer sends three
     * SYNs in three seconds.
     */
    static final int SERIES = 3;
    /** Maximum duration of a series. In a server that runs for months, single drops of each reason do occur. */
    static final long SERIES_NANOS = TimeUnit.MINUTES.toNanos(1);
    /** Time without a line about a reason after one. A problem of today may have another cause than that of March. */
    static final long QUIET_NANOS = TimeUnit.HOURS.toNanos(1);
    static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** Maximum number of channels examined per turn, since a loop may have very many. */
    static final int CHANNELS_PER_TURN = 64;

    private final String deviceName;
    private final RdmaRawMetered port;
    private final Supplier<Iterator<RdmaRawMetered>> channels;
    private final ConcurrentMap<String, Long> reported;
    private final Consumer<String> out;
    /** Current series of the objects that have dropped frames, by reason. Only reasons that may be logged now. */
    private final Map<RdmaRawMetered, Map<String, Series>> series = new WeakHashMap<>();
    private Iterator<RdmaRawMetered> nextChannels;
    private long nextTurnNanos;

    /** Drops in quick succession. */
    private static final class Series {
        private long begunNanos;
        private long countBefore;
        private long lastCount;

        /** Updates the series and returns its number of drops. */
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
     * @param port     the counters of frames that are dropped before they are assigned to a channel
     * @param channels iterates over the counters of the current channels
     * @param reported the reasons already logged and the time of the last line, shared by all queues of the device
     * @param out      receives the log lines
     */
    DropLog(String deviceName, RdmaRawMetered port, Supplier<Iterator<RdmaRawMetered>> channels,
            ConcurrentMap<String, Long> reported, Consumer<String> out, long nowNanos) {
        this.deviceName = deviceName;
        this.port = port;
        this.channels = channels;
        this.reported = reported;
        this.out = out;
        nextTurnNanos = nowNanos + INTERVAL_NANOS;
    }

    /** Examines the counters, at most once per second. */
    void poll(long nowNanos) {
        if (nowNanos - nextTurnNanos < 0) {
            return;
        }
        nextTurnNanos = nowNanos + INTERVAL_NANOS;
        poll(port, nowNanos);
        if (nextChannels == null || !nextChannels.hasNext()) {
            nextChannels = channels.get();
        }
        for (int i = 0; i < CHANNELS_PER_TURN && nextChannels.hasNext(); i++) {
            poll(nextChannels.next(), nowNanos);
        }
    }

    private void poll(RdmaRawMetered counted, long nowNanos) {
        for (RdmaRawMetric metric : counted.metrics()) {
            String remedy = DropHints.of(metric.name());
            if (remedy == null) {
                continue;
            }
            Long lastNanos = reported.get(metric.name());
            boolean isLevel = metric.kind() == RdmaRawMetric.Kind.LEVEL;
            if (lastNanos != null && (isLevel || nowNanos - lastNanos < QUIET_NANOS)) {
                forgetSeries(counted, metric.name());
                continue;
            }
            long count = counted.value(metric);
            boolean enough = count > 0 && (isLevel
                    || seriesOf(counted, metric.name(), lastNanos == null ? 0 : count, nowNanos).drops(count, nowNanos)
                    >= SERIES);
            if (!enough) {
                continue;
            }
            forgetSeries(counted, metric.name());
            if (markReported(metric.name(), lastNanos, nowNanos)) {
                out.accept(deviceName + ": " + metric.name() + ", " + count + " times so far ("
                        + metric.description() + "): " + remedy + ". It is "
                        + (isLevel ? "not logged again" : "logged at most once an hour")
                        + " for this device; ./rdma-raw top and the metrics count it");
            }
        }
    }

    /** Records that a reason is logged now. Returns false if another queue has just logged it. */
    private boolean markReported(String reason, Long lastNanosOrNull, long nowNanos) {
        return lastNanosOrNull == null ? reported.putIfAbsent(reason, nowNanos) == null
                : reported.replace(reason, lastNanosOrNull, nowNanos);
    }

    private void forgetSeries(RdmaRawMetered counted, String reason) {
        Map<String, Series> known = series.get(counted);
        if (known != null) {
            known.remove(reason);
        }
    }

    /**
     * @param countBefore drops that do not belong to a new series
     */
    private Series seriesOf(RdmaRawMetered counted, String reason, long countBefore, long nowNanos) {
        return series.computeIfAbsent(counted, any -> new HashMap<>()).computeIfAbsent(reason, any -> {
            Series begins = new Series();
            begins.begunNanos = nowNanos;
            begins.countBefore = countBefore;
            begins.lastCount = countBefore;
            return begins;
        });
    }
}
