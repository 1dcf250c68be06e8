package io.rdmaraw.metrics.internal;

import io.rdmaraw.metrics.RdmaRawLoopStatistics;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.metrics.RdmaRawQueueStatistics;
import io.rdmaraw.metrics.RdmaRawTcpStatistics;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Percentage;
import jdk.jfr.Period;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * The JFR events of the transport. Periodic events are computed from the counters on the recorder's thread, so
 * they do not slow down the hot path. Load this class only if {@link MetricsExporters#HAS_FLIGHT_RECORDER}.
 */
public final class FlightRecorderEvents {
    private static final Runnable QUEUE_SAMPLES = new Sampler()::sampleQueues;
    private static final Runnable TCP_SAMPLES = new Sampler()::sampleTcp;

    private FlightRecorderEvents() {
    }

    static void registerPeriodic() {
        FlightRecorder.addPeriodicEvent(QueueSample.class, QUEUE_SAMPLES);
        FlightRecorder.addPeriodicEvent(TcpSample.class, TCP_SAMPLES);
    }

    static void unregisterPeriodic() {
        FlightRecorder.removePeriodicEvent(QUEUE_SAMPLES);
        FlightRecorder.removePeriodicEvent(TCP_SAMPLES);
    }

    /** Activity of a queue since the last sample. */
    @Name("io.rdmaraw.QueueSample")
    @Label("Queue Sample")
    @Category({"Netty", "RDMA raw"})
    @Description("What a loop's queue on a port did since the last sample")
    @Period("1 s")
    @StackTrace(false)
    static final class QueueSample extends Event {
        @Label("Loop")
        String loop;
        @Label("Device")
        String device;
        @Label("Port")
        int port;
        @Label("Received Frames")
        long receivedFrames;
        @Label("Sent Frames")
        long sentFrames;
        @Label("Receive Bursts")
        long receiveBursts;
        @Label("Frames per Burst")
        double framesPerBurst;
        @Label("Empty Polls")
        @Percentage
        float emptyPolls;
        @Label("Drops")
        long drops;
        @Label("Copies")
        long copies;
        @Label("Flow Rules")
        long rules;
    }

    /** Activity of one loop's TCP stack since the last sample. */
    @Name("io.rdmaraw.TcpSample")
    @Label("TCP Sample")
    @Category({"Netty", "RDMA raw"})
    @Description("What the TCP of a loop on a device did since the last sample")
    @Period("1 s")
    @StackTrace(false)
    static final class TcpSample extends Event {
        @Label("Loop")
        String loop;
        @Label("Device")
        String device;
        @Label("Connections")
        long connections;
        @Label("In TIME-WAIT")
        long timeWait;
        @Label("Opened")
        long opened;
        @Label("Accepted")
        long accepted;
        @Label("Received Segments")
        long receivedSegments;
        @Label("Sent Segments")
        long sentSegments;
        @Label("Retransmitted Segments")
        long retransmittedSegments;
        @Label("Forwarded Segments")
        @Description("Passed on to the loop of their connection")
        long forwardedSegments;
        @Label("SYN Cookies Sent")
        long synCookiesSent;
        @Label("Drops")
        long drops;
    }

    /** The end of a TCP connection. Disabled by default, since a server may have thousands of them per second. */
    @Name("io.rdmaraw.TcpConnectionEnd")
    @Label("TCP Connection End")
    @Category({"Netty", "RDMA raw"})
    @Description("End of a connection, with its counters")
    @Enabled(false)
    @StackTrace(false)
    public static final class TcpConnectionEnd extends Event {
        @Label("Device")
        public String device;
        @Label("Local Address")
        public String local;
        @Label("Remote Address")
        public String remote;
        @Label("Reason")
        public String reason;
        @Label("Sent Bytes")
        public long sentBytes;
        @Label("Retransmitted Bytes")
        public long retransmittedBytes;
        @Label("Acknowledged Bytes")
        public long acknowledgedBytes;
        @Label("Received Bytes")
        public long receivedBytes;
        @Label("Smoothed Round Trip")
        @Timespan
        public long smoothedRtt;
        @Label("Minimum Round Trip")
        @Timespan
        public long minimumRtt;
        @Label("Busy")
        @Description("Time with data to send or unacknowledged")
        @Timespan
        public long busy;
        @Label("Limited by Window")
        @Timespan
        public long windowLimited;
        @Label("Limited by Send Buffer")
        @Timespan
        public long sendBufferLimited;
    }

    /** The peer of a connection does not answer. The transport requests a confirmation of the next hop. */
    @Name("io.rdmaraw.TcpPathSuspect")
    @Label("TCP Path Suspect")
    @Category({"Netty", "RDMA raw"})
    @Description("Several timeouts of a connection in a row went without an answer")
    @StackTrace(false)
    public static final class TcpPathSuspect extends Event {
        @Label("Device")
        public String device;
        @Label("Local Address")
        public String local;
        @Label("Remote Address")
        public String remote;
        @Label("Timeouts")
        public int timeouts;
        @Label("Unacknowledged Bytes")
        public long unacknowledgedBytes;
    }

    /** The recovery of a failed queue pair. */
    @Name("io.rdmaraw.QueueRecovery")
    @Label("Queue Recovery")
    @Category({"Netty", "RDMA raw"})
    @Description("A failed queue pair was reset and works again")
    public static final class QueueRecovery extends Event {
        @Label("Device")
        public String device;
        @Label("Port")
        public int port;
        @Label("Lost Frames")
        public long lostFrames;
    }

    /** A change of a channel's flow rules. */
    @Name("io.rdmaraw.FlowChange")
    @Label("Flow Change")
    @Category({"Netty", "RDMA raw"})
    @Description("A channel's flow rules were installed or removed")
    public static final class FlowChange extends Event {
        @Label("Device")
        public String device;
        @Label("Port")
        public int port;
        @Label("Channel")
        public String channel;
        @Label("Added Rules")
        @Description("The installed rules; empty when the channel left")
        public String addedRules;
        @Label("Rules Now")
        public int rules;
    }

    /** A period during which frames were copied because handlers held too many of them. */
    @Name("io.rdmaraw.SlowConsumer")
    @Label("Slow Consumer")
    @Category({"Netty", "RDMA raw"})
    @Description("Received frames are copied because handlers hold too many frames")
    @StackTrace(false)
    public static final class SlowConsumer extends Event {
        @Label("Device")
        public String device;
        @Label("Port")
        public int port;
        @Label("Copied Frames")
        public long copiedFrames;
    }

    /** Stores the previous values of the counters. Used only on the recorder's thread. */
    private static final class Sampler {
        private final Map<RdmaRawMetered, Map<RdmaRawMetric, Long>> last = new HashMap<>();

        void sampleQueues() {
            Map<RdmaRawMetered, Map<RdmaRawMetric, Long>> now = new HashMap<>();
            Set<String> devices = new HashSet<>();
            for (RdmaRawLoopStatistics loop : RdmaRawMetrics.loops()) {
                for (RdmaRawQueueStatistics queue : loop.queues()) {
                    boolean first = devices.add(queue.deviceName());
                    Map<RdmaRawMetric, Long> values = record(queue, now);
                    Map<RdmaRawMetric, Long> counted = new HashMap<>(values);
                    // All queues of a device report the counters of the whole device, so only one event includes
                    // them.
                    counted.keySet().removeIf(metric -> !first && metric.scope() == RdmaRawMetric.Scope.DEVICE);
                    commit(loop, queue, counted, last.getOrDefault(queue, Map.of()));
                }
            }
            retain(now);
        }

        void sampleTcp() {
            Map<RdmaRawMetered, Map<RdmaRawMetric, Long>> now = new HashMap<>();
            for (RdmaRawLoopStatistics loop : RdmaRawMetrics.loops()) {
                for (RdmaRawQueueStatistics queue : loop.queues()) {
                    for (RdmaRawMetered channel : queue.channels().values()) {
                        if (channel instanceof RdmaRawTcpStatistics) {
                            commitTcp(loop, queue, record(channel, now), last.getOrDefault(channel, Map.of()));
                        }
                    }
                }
            }
            retain(now);
        }

        private static Map<RdmaRawMetric, Long> record(RdmaRawMetered metered,
                                                     Map<RdmaRawMetered, Map<RdmaRawMetric, Long>> now) {
            Map<RdmaRawMetric, Long> values = new HashMap<>();
            metered.metrics().forEach(metric -> values.put(metric, metered.value(metric)));
            now.put(metered, values);
            return values;
        }

        private void retain(Map<RdmaRawMetered, Map<RdmaRawMetric, Long>> now) {
            last.clear();
            last.putAll(now);
        }

        private static void commitTcp(RdmaRawLoopStatistics loop, RdmaRawQueueStatistics queue,
                                      Map<RdmaRawMetric, Long> now, Map<RdmaRawMetric, Long> before) {
            TcpSample event = new TcpSample();
            event.loop = loop.name();
            event.device = queue.deviceName();
            for (Map.Entry<RdmaRawMetric, Long> entry : now.entrySet()) {
                RdmaRawMetric metric = entry.getKey();
                long change = entry.getValue() - before.getOrDefault(metric, 0L);
                event.drops += metric.kind() == RdmaRawMetric.Kind.DROP ? change : 0;
                switch (metric.name()) {
                    case "connections" -> event.connections = entry.getValue();
                    case "time-wait" -> event.timeWait = entry.getValue();
                    case "opened.connections" -> event.opened = change;
                    case "accepted.connections" -> event.accepted = change;
                    case "received.segments" -> event.receivedSegments = change;
                    case "sent.segments" -> event.sentSegments = change;
                    case "retransmitted.segments" -> event.retransmittedSegments = change;
                    case "forwarded.segments" -> event.forwardedSegments = change;
                    case "syn-cookies.sent" -> event.synCookiesSent = change;
                    default -> {
                    }
                }
            }
            event.commit();
        }

        private static void commit(RdmaRawLoopStatistics loop, RdmaRawQueueStatistics queue,
                                   Map<RdmaRawMetric, Long> now, Map<RdmaRawMetric, Long> before) {
            QueueSample event = new QueueSample();
            event.loop = loop.name();
            event.device = queue.deviceName();
            event.port = queue.portNumber();
            long polls = 0;
            long empty = 0;
            for (Map.Entry<RdmaRawMetric, Long> entry : now.entrySet()) {
                RdmaRawMetric metric = entry.getKey();
                long change = entry.getValue() - before.getOrDefault(metric, 0L);
                switch (metric.kind()) {
                    case DROP -> event.drops += change;
                    case COPY -> event.copies += change;
                    default -> {
                    }
                }
                switch (metric.name()) {
                    case "received.frames" -> event.receivedFrames = change;
                    case "sent.frames" -> event.sentFrames = change;
                    case "receive.bursts" -> event.receiveBursts = change;
                    case "receive.polls" -> polls = change;
                    case "receive.polls.empty" -> empty = change;
                    case "rules" -> event.rules = entry.getValue();
                    default -> {
                    }
                }
            }
            event.framesPerBurst = event.receiveBursts == 0 ? 0 : (double) event.receivedFrames / event.receiveBursts;
            event.emptyPolls = polls == 0 ? 0 : (float) empty / polls;
            event.commit();
        }
    }
}
