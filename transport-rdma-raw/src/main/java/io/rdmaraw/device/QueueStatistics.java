package io.rdmaraw.device;

import io.rdmaraw.device.FrameReceiver;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.metrics.RdmaRawQueueStatistics;
import io.rdmaraw.metrics.internal.FrameDrops;
import io.rdmaraw.metrics.internal.MetricTable;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.QueueCounters;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.verbs.softverbs.DeviceCounters.FromSameHost;

import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.ToLongFunction;

import static io.rdmaraw.metrics.RdmaRawMetric.Kind.COPY;
import static io.rdmaraw.metrics.RdmaRawMetric.Kind.DROP;
import static io.rdmaraw.metrics.RdmaRawMetric.Kind.GAUGE;
import static io.rdmaraw.metrics.RdmaRawMetric.Kind.WORK;

/** The counters of one loop's queue on one port. The loop writes with plain stores; any thread may read. */
public final class QueueStatistics implements RdmaRawQueueStatistics {
    /** Number of classes of {@link #burstsOfFill(int)}. */
    private static final int FILL_CLASSES = 32 - Integer.numberOfLeadingZeros(FrameQueue.MAX_BURST_FRAMES);
    private static final MetricTable<QueueStatistics> TABLE = new MetricTable<QueueStatistics>()
            .traffic("received.frames", of(c -> c.receivedFrames), "frames received")
            .traffic("received.bytes", of(c -> c.receivedBytes), "bytes of the frames received")
            .traffic("sent.frames", of(c -> c.sentFrames), "frames accepted by the device")
            .traffic("sent.bytes", of(c -> c.sentBytes), "bytes of the frames accepted by the device")
            .work("receive.polls", of(c -> c.receivePolls), "polls for received frames")
            .work("receive.polls.empty", of(c -> c.emptyReceivePolls), "polls that found nothing")
            .work("receive.bursts", s -> s.bursts, "polls that found frames")
            .work("send.bursts", of(c -> c.sendBursts), "doorbells rung for sends")
            .work("segmented.frames", of(c -> c.tsoFrames),
                    "sent frames that the device segmented")
            .work("padded.frames", of(c -> c.paddedFrames), "frames padded to the minimum length of Ethernet")
            .ofDevice(WORK, "partial-checksum", fromSameHost(FromSameHost::partialChecksums),
                    "checksums omitted by a sender on the same host and computed by softverbs")
            .ofDevice(WORK, "gso-frames", fromSameHost(FromSameHost::gsoFrames),
                    "GSO frames (beyond the MTU) from a sender on the same host, segmented by softverbs")
            .ofDevice(WORK, "gso-frames.segments", fromSameHost(FromSameHost::gsoSegments),
                    "segments that softverbs made of GSO frames")
            .ofDevice(WORK, "gso-frames.unsegmented", fromSameHost(FromSameHost::gsoUnsegmented),
                    "GSO frames of TCP received unsegmented")
            .ofDevice(WORK, "gso-datagrams", fromSameHost(FromSameHost::datagramsToKernel),
                    "UDP frames beyond the MTU that softverbs left to the kernel, because the lengths of"
                            + " their datagrams are unknown")
            .drop("no-channel", s -> s.undeliveredFrames,
                    "frames for a channel that was closed, or dropped after an unexpected exception; see the log")
            .drop("vlan-tag", s -> s.vlanTaggedFrames,
                    "VLAN-tagged frames that the device delivered for rules of untagged frames; the kernel's VLAN"
                            + " interfaces do not receive them")
            .otherDrop("send-error", of(c -> c.sendErrors), "frames for which the device reported a send error")
            .otherDrop("send-refused", of(c -> c.refusedFrames), "frames rejected by the device when posted")
            .otherDrop("queue-failed", of(c -> c.lostInFlightFrames), "frames in flight when the queue pair failed")
            .otherDrop("receive-error", of(c -> c.receiveErrors), "receive errors reported by the device")
            .otherDrop("no-memory", of(c -> c.noMemoryFrames),
                    "frames dropped because handlers held all slots and no direct memory was left for a copy")
            .ofDevice(DROP, "ring-full", s -> s.device.counters().ringFullDrops(),
                    "frames dropped by the interface of softverbs because its ring was full")
            .ofDevice(DROP, "syn-ring-full", s -> s.device.counters().synRingFullDrops(),
                    "SYNs dropped by the interface of softverbs because the loops did not keep up")
            .ofDevice(DROP, "unsolicited", s -> s.device.counters().unsolicitedDrops(),
                    "TCP segments without a connection dropped by the interface of softverbs because they"
                            + " exceeded the limit for the loops")
            .ofDevice(DROP, "driver-full", s -> s.device.counters().driverDrops(),
                    "frames missed by the interface because buffers were missing, and times that its driver found no"
                            + " free chunk of softverbs in zero copy")
            .ofDevice(DROP, "unserved", s -> s.device.counters().unservedFrames(),
                    "frames left to the kernel by softverbs because they arrived on a receive queue that"
                            + " was added to the interface after the device was opened, or dropped because softverbs"
                            + " can't open the interface of a bond by which they arrived")
            .ofDevice(DROP, "inactive-leg", s -> s.device.counters().inactiveLegDrops(),
                    "frames dropped by softverbs because the bond does not receive by the interface by which they"
                            + " arrived; the kernel's bond drops such frames too")
            .ofDevice(DROP, "no-receive", s -> s.device.noReceiveDrops(),
                    "frames dropped by softverbs or by the card because the loop did not poll before its receive queue"
                            + " was empty")
            .ofDevice(DROP, "interface-full", s -> s.device.counters().interfaceDrops(),
                    "sent frames rejected by the interface of softverbs because it was busy or down")
            .ofDevice(DROP, "no-send-queue", s -> s.device.counters().sendQueueDrops(),
                    "sent frames dropped by softverbs because the interface no longer has their send queue, or"
                            + " softverbs can't open the interface of a bond that sends")
            .ofDevice(DROP, "too-long", s -> s.device.counters().tooLongDrops(),
                    "frames dropped by softverbs because they exceeded the MTU and could not be segmented")
            .ofDevice(DROP, "gso-flags", fromSameHost(FromSameHost::flagDrops),
                    "TCP frames beyond the MTU with SYN, RST or URG, dropped by softverbs")
            .ofDevice(DROP, "gso-malformed", fromSameHost(FromSameHost::malformedDrops),
                    "frames beyond the MTU dropped by softverbs because their headers contradict their"
                            + " length or their checksum is wrong")
            .ofDevice(DROP, "gso-too-long", fromSameHost(FromSameHost::tooLongDrops),
                    "frames beyond 64 KB (BIG TCP) dropped by softverbs")
            .ofDevice(WORK, "large-sends", s -> s.device.counters().largeSends(),
                    "TCP payloads of several segments that softverbs passed to the kernel as a single"
                            + " packet")
            .ofDevice(COPY, "interface-ring", s -> s.device.counters().copiedFromRing(),
                    "received frames that softverbs copied out of the interface's ring")
            .copy("slow-consumer", of(c -> c.copiedOutFrames),
                    "received frames copied because handlers held the registered memory")
            .copy("unregistered-memory", of(c -> c.copiedInFrames),
                    "sent frames copied because they did not lie in registered memory")
            .copy("too-many-parts", of(c -> c.coalescedFrames),
                    "sent frames copied because they had more parts than the device can gather")
            .error("receive-queue-low", of(c -> c.receiveQueueLow),
                    "times that no free slot was left for receiving")
            .error("released-early", of(c -> c.releasedEarlyFrames),
                    "sent frames that handlers had released after writing them")
            .error("recoveries", of(c -> c.recoveries), "failed queue pairs that were recovered")
            .add(GAUGE, "rules", s -> s.ruleCount, "flow rules of this queue")
            .ofDevice(GAUGE, "rules.kernel-visible", s -> s.device.counters().kernelVisibleRules(),
                    "rules whose frames the kernel may answer too: see docs/reference/security.md")
            .add(GAUGE, "slots.in-use", of(c -> c.slots == null ? 0 : c.slots.inUse()),
                    "slots that are posted, in flight, or held by handlers and connections")
            .add(GAUGE, "channels", s -> s.receivers.size(),
                    "raw and datagram channels on this queue; the TCP of the loop counts as one, and so does a"
                            + " userspace host");

    private final SharedDevice device;
    private final int portNumber;
    private final Map<String, List<RdmaRawMetric>> metricsByKind;
    private final QueueCounters counters;
    private final Map<RdmaRawMetered, AttachedReceiver> receivers = new ConcurrentHashMap<>();
    /** Sums over the receivers that have been removed, by kind: several kinds have equal metrics. */
    private final Map<String, Map<RdmaRawMetric, Long>> retired = new ConcurrentHashMap<>();
    private final long[] fills = new long[FILL_CLASSES + 1];
    long bursts;
    public long undeliveredFrames;
    public long vlanTaggedFrames;
    public int ruleCount;

    /**
     * A receiver with counters: a channel, the TCP of the loop, or a userspace host.
     *
     * @param before the receiver's counters when it was added; it may have counted on another queue before
     */
    private record AttachedReceiver(FrameReceiver receiver, Map<RdmaRawMetric, Long> before) {
        private void addTo(Map<RdmaRawMetric, Long> totals) {
            RdmaRawMetered counted = receiver.statistics();
            counted.metrics().forEach(metric ->
                    totals.merge(metric, counted.value(metric) - before.getOrDefault(metric, 0L), Long::sum));
        }
    }

    public QueueStatistics(SharedDevice device, int portNumber, QueueCounters counters,
                   Map<String, List<RdmaRawMetric>> metricsByKind) {
        this.metricsByKind = metricsByKind;
        this.device = device;
        this.portNumber = portNumber;
        this.counters = counters;
    }

    private static ToLongFunction<QueueStatistics> of(ToLongFunction<QueueCounters> counter) {
        return s -> counter.applyAsLong(s.counters);
    }

    private static ToLongFunction<QueueStatistics> fromSameHost(ToLongFunction<FromSameHost> counter) {
        return s -> counter.applyAsLong(s.device.counters().fromSameHost());
    }

    @Override
    public String deviceName() {
        return device.name();
    }

    @Override
    public int portNumber() {
        return portNumber;
    }

    @Override
    public long burstsOfFill(int n) {
        return fills[n + 1];
    }

    @Override
    public Map<String, List<RdmaRawMetric>> metricsByKind() {
        return metricsByKind;
    }

    /** Counts a received burst. */
    public void countBurst(int frames) {
        bursts++;
        fills[32 - Integer.numberOfLeadingZeros(frames)]++;
    }

    @Override
    public Map<String, RdmaRawMetered> channels() {
        Map<String, RdmaRawMetered> named = new TreeMap<>();
        receivers.forEach((statistics, listed) -> named.put(listed.receiver.label(), statistics));
        return named;
    }

    @Override
    public Map<RdmaRawMetric, Long> totals(String kind) {
        Map<RdmaRawMetric, Long> totals = new HashMap<>(retired.getOrDefault(kind, Map.of()));
        List<RdmaRawMetric> metrics = metricsByKind.get(kind);
        receivers.forEach((statistics, listed) -> {
            if (statistics.metrics().equals(metrics)) {
                listed.addTo(totals);
            }
        });
        return totals;
    }

    /**
     * Returns an iterator over the receivers' counters. Concurrent additions and removals may or may not be
     * visible.
     */
    Iterator<RdmaRawMetered> receiverIterator() {
        return receivers.keySet().iterator();
    }

    public void add(FrameReceiver receiver) {
        RdmaRawMetered statistics = receiver.statistics();
        if (statistics != null) {
            // When the rules of a receiver change, it is added again under another name before it is removed.
            AttachedReceiver known = receivers.get(statistics);
            receivers.put(statistics,
                    new AttachedReceiver(receiver, known != null ? known.before : countersOf(statistics)));
        }
    }

    private static Map<RdmaRawMetric, Long> countersOf(RdmaRawMetered counted) {
        Map<RdmaRawMetric, Long> values = new HashMap<>();
        for (RdmaRawMetric metric : counted.metrics()) {
            if (metric.kind() != RdmaRawMetric.Kind.GAUGE) {
                values.put(metric, counted.value(metric));
            }
        }
        return values;
    }

    public void remove(FrameReceiver receiver) {
        RdmaRawMetered statistics = receiver.statistics();
        AttachedReceiver listed = statistics == null ? null : receivers.get(statistics);
        if (listed != null && listed.receiver == receiver) {
            receivers.remove(statistics);
            metricsByKind.forEach((kind, metrics) -> {
                if (statistics.metrics().equals(metrics)) {
                    listed.addTo(retired.computeIfAbsent(kind, first -> new ConcurrentHashMap<>()));
                }
            });
        }
    }

    FrameDrops<QueueStatistics> frameDrops() {
        return TABLE.frameDrops(this);
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
