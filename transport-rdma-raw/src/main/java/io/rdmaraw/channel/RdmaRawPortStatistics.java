package io.rdmaraw.channel;

import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.QueueCounters;
import io.rdmaraw.queue.SharedDevice;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.ToLongFunction;

/**
 * What one loop's queue on one port has counted, and what the channels on it have. Readable on any thread.
 */
public final class RdmaRawPortStatistics implements RdmaRawMetered {
    /** Bounds of the classes of {@link #burstsOfFill(int)}: a burst of n frames is in the last one not above n. */
    private static final int FILL_CLASSES = 32 - Integer.numberOfLeadingZeros(FrameQueue.BURST_FRAMES);
    private static final MetricTable<RdmaRawPortStatistics> TABLE = new MetricTable<RdmaRawPortStatistics>()
            .traffic("received.frames", of(QueueCounters::receivedFrames), "frames received")
            .traffic("received.bytes", of(QueueCounters::receivedBytes), "bytes of the frames received")
            .traffic("sent.frames", of(QueueCounters::sentFrames), "frames that the device took")
            .traffic("sent.bytes", of(QueueCounters::sentBytes), "bytes of the frames that the device took")
            .work("receive.polls", of(QueueCounters::receivePolls), "polls for received frames")
            .work("receive.polls.empty", of(QueueCounters::emptyReceivePolls), "polls that found nothing")
            .work("receive.bursts", s -> s.bursts, "polls that found frames")
            .work("send.bursts", of(QueueCounters::sendBursts), "doorbells rung for sends")
            .work("segmented.frames", of(QueueCounters::segmentedFrames),
                    "frames sent that the device cut into segments")
            .work("padded.frames", of(QueueCounters::paddedFrames), "frames filled up to Ethernet's least length")
            .drop("no-channel", s -> s.unmatchedFrames, "received by a rule whose channel is gone")
            .drop("send-error", of(QueueCounters::sendErrors), "the device reported an error for a send")
            .drop("send-refused", of(QueueCounters::refusedFrames), "the device refused the frame at the post")
            .drop("queue-failed", of(QueueCounters::lostInFlightFrames), "in flight when the queue pair failed")
            .drop("receive-error", of(QueueCounters::receiveErrors), "the device reported an error for a receive")
            .drop("no-memory", of(QueueCounters::noMemoryFrames),
                    "handlers hold all slots, and there was no direct memory to copy the frame to")
            .drop("ring-full", s -> s.device.ringFullDrops(),
                    "dropped by the interface of softverbs because nobody emptied its ring; of the whole device")
            .drop("syn-ring-full", s -> s.device.synRingFullDrops(),
                    "SYNs dropped by the interface of softverbs because more came than the loops look at; of the whole"
                            + " device")
            .drop("strangers", s -> s.device.strangerDrops(),
                    "TCP segments of no connection dropped by the interface of softverbs because more came than the"
                            + " loops look at; of the whole device")
            .drop("unserved", s -> s.device.unservedFrames(),
                    "left to the kernel by softverbs because they came by a receive queue of the interface that was"
                            + " added after the device was opened; of the whole device")
            .drop("no-receive", s -> s.device.noReceiveDrops(),
                    "dropped by softverbs because the loop was away for longer than its receive queue lasts; of the"
                            + " whole device")
            .copy("interface-ring", s -> s.device.copiedFromRing(),
                    "received frames that softverbs copied out of the interface's ring; of the whole device")
            .copy("slow-consumer", of(QueueCounters::copiedOutFrames),
                    "received frames copied because handlers hold the registered memory")
            .copy("unregistered-memory", of(QueueCounters::copiedInFrames),
                    "sent frames copied because they did not lie in registered memory")
            .copy("too-many-parts", of(QueueCounters::coalescedFrames),
                    "sent frames copied together because they had more parts than the device gathers")
            .error("receive-queue-low", of(QueueCounters::receiveQueueLow),
                    "times that no free slot was left to receive into")
            .error("released-early", of(QueueCounters::releasedEarlyFrames),
                    "sent frames that handlers had released though they had written them")
            .error("recoveries", of(QueueCounters::recoveries), "failed queue pairs that were set going again")
            .add(RdmaRawMetric.Kind.LEVEL, "rules", s -> s.rules, "flow rules that steer to this queue")
            .add(RdmaRawMetric.Kind.LEVEL, "rules.unquiet", s -> s.device.unquietRules(),
                    "rules of the whole device whose frames the kernel may answer too: see docs/security.md")
            .add(RdmaRawMetric.Kind.LEVEL, "channels", s -> s.channels.size(), "channels on this queue");

    private final SharedDevice device;
    private final int portNumber;
    private final QueueCounters counters;
    private final Map<RdmaRawMetered, Listed> channels = new ConcurrentHashMap<>();
    /** What channels that are gone had counted. */
    private final Map<RdmaRawMetric, Long> retired = new ConcurrentHashMap<>();
    private final long[] fills = new long[FILL_CLASSES + 1];
    long bursts;
    long unmatchedFrames;
    int rules;

    /**
     * A channel of the queue.
     *
     * @param before what it had counted when it came, on another queue or on this one
     */
    private record Listed(QueueChannel channel, Map<RdmaRawMetric, Long> before) {
        private void addTo(Map<RdmaRawMetric, Long> totals) {
            RdmaRawMetered counted = channel.statistics();
            counted.metrics().forEach(metric ->
                    totals.merge(metric, counted.value(metric) - before.getOrDefault(metric, 0L), Long::sum));
        }
    }

    RdmaRawPortStatistics(SharedDevice device, int portNumber, QueueCounters counters) {
        this.device = device;
        this.portNumber = portNumber;
        this.counters = counters;
    }

    private static ToLongFunction<RdmaRawPortStatistics> of(ToLongFunction<QueueCounters> counter) {
        return s -> counter.applyAsLong(s.counters);
    }

    /** Returns the device's name. */
    public String deviceName() {
        return device.name();
    }

    /** Returns the port's number, from 1. */
    public int portNumber() {
        return portNumber;
    }

    /**
     * Returns how many bursts had from 2^n to less than 2^(n+1) frames.
     *
     * @param n 0 to 6; the last class has the full bursts of 64
     */
    public long burstsOfFill(int n) {
        return fills[n + 1];
    }

    /** Counts a burst that was received. Called on the loop. */
    void burst(int frames) {
        bursts++;
        fills[32 - Integer.numberOfLeadingZeros(frames)]++;
    }

    /**
     * Returns what the channels on this queue count, each under its identifier and local address. TCP's connections are
     * counted together, under {@code tcp}: see {@link RdmaRawTcpStatistics}.
     */
    public Map<String, RdmaRawMetered> channels() {
        Map<String, RdmaRawMetered> named = new TreeMap<>();
        channels.forEach((statistics, listed) -> named.put(listed.channel.label(), statistics));
        return named;
    }

    /** Returns what all channels that this queue has ever had counted, by metric. */
    public Map<RdmaRawMetric, Long> channelTotals() {
        Map<RdmaRawMetric, Long> totals = new ConcurrentHashMap<>(retired);
        channels.values().forEach(listed -> listed.addTo(totals));
        return totals;
    }

    void add(QueueChannel channel) {
        RdmaRawMetered statistics = channel.statistics();
        if (statistics != null) {
            // A channel whose rules change comes again, as somebody else, before it goes.
            Listed known = channels.get(statistics);
            channels.put(statistics, new Listed(channel, known != null ? known.before : countersOf(statistics)));
        }
    }

    private static Map<RdmaRawMetric, Long> countersOf(RdmaRawMetered counted) {
        Map<RdmaRawMetric, Long> values = new HashMap<>();
        for (RdmaRawMetric metric : counted.metrics()) {
            if (metric.kind() != RdmaRawMetric.Kind.LEVEL) {
                values.put(metric, counted.value(metric));
            }
        }
        return values;
    }

    void remove(QueueChannel channel) {
        RdmaRawMetered statistics = channel.statistics();
        Listed listed = statistics == null ? null : channels.get(statistics);
        if (listed != null && listed.channel == channel) {
            channels.remove(statistics);
            listed.addTo(retired);
        }
    }

    @Override
    public List<RdmaRawMetric> metrics() {
        return TABLE.metrics();
    }

    @Override
    public long value(RdmaRawMetric metric) {
        return TABLE.value(this, metric);
    }
}
