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
    static final int MIN_SERIES_DROPS = 3;
    /** Maximum duration of a series. In a server that runs for months, single drops of each reason do occur. */
    static final long MAX_SERIES_NANOS = TimeUnit.MINUTES.toNanos(1);
    /** Minimum time between two lines about a reason. A later series may have another cause. */
    static final long QUIET_NANOS = TimeUnit.HOURS.toNanos(1);
    static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** Maximum number of channels examined per turn, since a loop may have very many. */
    static final int CHANNELS_PER_POLL = 64;

    private final String deviceName;
    private final RdmaRawMetered portCounters;
    private final Supplier<Iterator<RdmaRawMetered>> channelCounters;
    private final ConcurrentMap<String, Long> reported;
    private final Consumer<String> log;
    /** Current series of the objects that have dropped frames, by reason. Only reasons that may be logged now. */
    private final Map<RdmaRawMetered, Map<String, Series>> series = new WeakHashMap<>();
    private Iterator<RdmaRawMetered> nextChannels;
    private long nextPollNanos;

    /** Drops in quick succession. */
    private static final class Series {
        private long startNanos;
        private long startCount;
        private long lastCount;

        /** Updates the series and returns its number of drops. */
        long drops(long count, long nowNanos) {
            if (count > lastCount && nowNanos - startNanos > MAX_SERIES_NANOS) {
                startNanos = nowNanos;
                startCount = lastCount;
            }
            lastCount = count;
            return count - startCount;
        }
    }

    /**
     * @param portCounters    the counters of frames that are dropped before they are assigned to a channel
     * @param channelCounters iterates over the counters of the current channels
     * @param reported        the reasons already logged and the time of the last line, shared by all queues of the
     *                        device
     * @param log             receives the log lines
     */
    DropLog(String deviceName, RdmaRawMetered portCounters, Supplier<Iterator<RdmaRawMetered>> channelCounters,
            ConcurrentMap<String, Long> reported, Consumer<String> log, long nowNanos) {
        this.deviceName = deviceName;
        this.portCounters = portCounters;
        this.channelCounters = channelCounters;
        this.reported = reported;
        this.log = log;
        nextPollNanos = nowNanos + INTERVAL_NANOS;
    }

    /** Examines the counters, at most once per second. */
    void poll(long nowNanos) {
        if (nowNanos - nextPollNanos < 0) {
            return;
        }
        nextPollNanos = nowNanos + INTERVAL_NANOS;
        poll(portCounters, nowNanos);
        if (nextChannels == null || !nextChannels.hasNext()) {
            nextChannels = channelCounters.get();
        }
        for (int i = 0; i < CHANNELS_PER_POLL && nextChannels.hasNext(); i++) {
            poll(nextChannels.next(), nowNanos);
        }
    }

    private void poll(RdmaRawMetered source, long nowNanos) {
        for (RdmaRawMetric metric : source.metrics()) {
            String remedy = DropRemedies.of(metric.name());
            if (remedy == null) {
                continue;
            }
            Long lastNanos = reported.get(metric.name());
            boolean isGauge = metric.kind() == RdmaRawMetric.Kind.GAUGE;
            if (lastNanos != null && (isGauge || nowNanos - lastNanos < QUIET_NANOS)) {
                forgetSeries(source, metric.name());
                continue;
            }
            long count = source.value(metric);
            boolean shouldReport = count > 0 && (isGauge
                    || seriesOf(source, metric.name(), lastNanos == null ? 0 : count, nowNanos).drops(count, nowNanos)
                    >= MIN_SERIES_DROPS);
            if (!shouldReport) {
                continue;
            }
            forgetSeries(source, metric.name());
            if (markReported(metric.name(), lastNanos, nowNanos)) {
                log.accept(deviceName + ": " + metric.name() + ", " + count + " times so far ("
                        + metric.description() + "): " + remedy + ". It is "
                        + (isGauge ? "not logged again" : "logged at most once an hour")
                        + " for this device; ./rdma-raw top and the metrics count it");
            }
        }
    }

    /** Records that a reason is logged now. Returns false if another queue has just logged it. */
    private boolean markReported(String reason, Long lastNanosOrNull, long nowNanos) {
        return lastNanosOrNull == null ? reported.putIfAbsent(reason, nowNanos) == null
                : reported.replace(reason, lastNanosOrNull, nowNanos);
    }

    private void forgetSeries(RdmaRawMetered source, String reason) {
        Map<String, Series> known = series.get(source);
        if (known != null) {
            known.remove(reason);
        }
    }

    /**
     * @param startCount drops that do not belong to a new series
     */
    private Series seriesOf(RdmaRawMetered source, String reason, long startCount, long nowNanos) {
        return series.computeIfAbsent(source, any -> new HashMap<>()).computeIfAbsent(reason, any -> {
            Series newSeries = new Series();
            newSeries.startNanos = nowNanos;
            newSeries.startCount = startCount;
            newSeries.lastCount = startCount;
            return newSeries;
        });
    }
}
