package io.rdmaraw.metrics.internal;

import io.rdmaraw.metrics.RdmaRawLoopStatistics;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.metrics.RdmaRawQueueStatistics;
import io.rdmaraw.metrics.RdmaRawTcpInfo;
import io.rdmaraw.metrics.RdmaRawTcpSockets;
import io.rdmaraw.metrics.RdmaRawTcpStatistics;

import javax.management.openmbean.CompositeData;
import javax.management.openmbean.OpenDataException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Rows with the TCP listeners and connections of all loops, for {@link TransportMBean}. All loops are queried
 * in parallel. A loop that does not answer in time, because a handler blocks it, is omitted.
 */
public final class SocketRows {
    private static final int MAX_PER_LOOP = 128;
    private static final long TIMEOUT_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private record SampledQueue(RdmaRawLoopStatistics loop, RdmaRawQueueStatistics queue,
                         CompletableFuture<RdmaRawTcpSockets> sockets) {
    }

    private SocketRows() {
    }

    public static CompositeData[] read() throws OpenDataException {
        List<SampledQueue> all = new ArrayList<>();
        for (RdmaRawLoopStatistics loop : RdmaRawMetrics.loops()) {
            for (RdmaRawQueueStatistics queue : loop.queues()) {
                for (RdmaRawMetered channel : queue.channels().values()) {
                    if (channel instanceof RdmaRawTcpStatistics tcp) {
                        all.add(new SampledQueue(loop, queue, tcp.sockets(MAX_PER_LOOP)));
                    }
                }
            }
        }
        long deadlineNanos = System.nanoTime() + TIMEOUT_NANOS;
        List<CompositeData> rows = new ArrayList<>();
        for (SampledQueue sampled : all) {
            try {
                add(rows, sampled, sampled.sockets().get(Math.max(0, deadlineNanos - System.nanoTime()),
                        TimeUnit.NANOSECONDS));
            } catch (ExecutionException | TimeoutException e) {
                // The loop has terminated or is blocked. List the others.
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                break;
            }
        }
        return rows.toArray(CompositeData[]::new);
    }

    private static void add(List<CompositeData> rows, SampledQueue sampled, RdmaRawTcpSockets sockets)
            throws OpenDataException {
        for (RdmaRawTcpSockets.Listener listener : sockets.listeners()) {
            Map<String, Object> row = newRow(sampled, listener.local(), "*", "LISTEN");
            row.put("gauge:half-open", (long) listener.halfOpen());
            row.put("gauge:backlog", (long) listener.backlog());
            rows.add(TransportMBean.row("Listener", row));
        }
        if (!sockets.countByState().isEmpty()) {
            Map<String, Object> row = newRow(sampled, "", "", "ALL");
            sockets.countByState().forEach((state, count) -> row.put("gauge:" + state, (long) count));
            rows.add(TransportMBean.row("States", row));
        }
        for (RdmaRawTcpSockets.Connection connection : sockets.connections()) {
            rows.add(TransportMBean.row("Connection", connection(sampled, connection)));
        }
    }

    private static Map<String, Object> newRow(SampledQueue sampled, Object local, Object remote, String state) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("loop", sampled.loop().name());
        row.put("device", sampled.queue().deviceName());
        row.put("local", text(local));
        row.put("remote", text(remote));
        row.put("state", state);
        return row;
    }

    /**
     * Returns an address without the empty host name that Java puts before it. A wildcard is shown as {@code *}, as
     * {@code ss} does, because a server on it serves IPv4 and IPv6.
     */
    private static String text(Object address) {
        if (address instanceof InetSocketAddress socket && socket.getAddress().isAnyLocalAddress()) {
            return "*:" + socket.getPort();
        }
        return address.toString().replaceFirst("^[^/]*/", "");
    }

    private static Map<String, Object> connection(SampledQueue sampled, RdmaRawTcpSockets.Connection connection) {
        RdmaRawTcpInfo info = connection.info();
        Map<String, Object> row = newRow(sampled, connection.local(), connection.remote(), info.state());
        row.put("congestion", info.congestionControl() + (info.recovering() ? ", recovering" : ""));
        row.put("traffic:received.payload.bytes", info.bytesReceived());
        row.put("traffic:acknowledged.payload.bytes", info.bytesAcked());
        row.put("traffic:received.segments", (long) info.segmentsIn());
        row.put("traffic:sent.segments", (long) info.segmentsOut());
        row.put("traffic:retransmitted.segments", (long) info.retransmittedSegments());
        row.put("nanos:rtt", info.smoothedRttNanos());
        row.put("nanos:rtt.minimum", info.minimumRttNanos());
        row.put("timer", info.timer());
        row.put("nanos:timer", info.timerNanos());
        row.put("nanos:rto", info.retransmissionTimeoutNanos());
        row.put("gauge:congestion-window.bytes", (long) info.congestionWindowBytes());
        row.put("gauge:send-window.bytes", (long) info.sendWindowBytes());
        row.put("gauge:receive-window.bytes", (long) info.receiveWindowBytes());
        row.put("gauge:segment.bytes", (long) info.segmentBytes());
        row.put("gauge:path-mtu.bytes", (long) info.pathMtuBytes());
        row.put("gauge:unacknowledged.bytes", (long) info.unacknowledgedBytes());
        row.put("gauge:unsent.bytes", (long) info.unsentBytes());
        addDetails(row, info);
        return row;
    }

    /** Adds the details that {@code ss -i} prints. */
    private static void addDetails(Map<String, Object> row, RdmaRawTcpInfo info) {
        row.put("options", options(info));
        row.put("traffic:sent.payload.bytes", info.bytesSent());
        row.put("traffic:retransmitted.payload.bytes", info.retransmittedBytes());
        row.put("traffic:delivered.payload.bytes", info.deliveredBytes());
        row.put("traffic:delivered-marked.payload.bytes", info.deliveredMarkedBytes());
        row.put("traffic:duplicates-reported.segments", (long) info.duplicatesReported());
        row.put("traffic:reorderings", (long) info.reorderings());
        row.put("nanos:rtt.variation", info.rttVariationNanos());
        row.put("nanos:rtt.receiver", info.receiveRttNanos());
        row.put("nanos:since-sent", info.sinceLastSentNanos());
        row.put("nanos:since-received", info.sinceLastReceivedNanos());
        row.put("nanos:busy", info.busyNanos());
        row.put("nanos:window-limited", info.windowLimitedNanos());
        row.put("nanos:send-buffer-limited", info.sendBufferLimitedNanos());
        row.put("gauge:send-window.shift", (long) info.sendWindowShift());
        row.put("gauge:receive-window.shift", (long) info.receiveWindowShift());
        row.put("gauge:backoff", (long) info.backoff());
        row.put("gauge:unanswered.timeouts", (long) info.unansweredTimeouts());
        row.put("gauge:slow-start-threshold.bytes", (long) info.slowStartThresholdBytes());
        row.put("gauge:peer-segment.bytes", (long) info.peerSegmentBytes());
        row.put("gauge:receive-buffer.bytes", (long) info.receiveBufferBytes());
        row.put("gauge:in-flight.bytes", (long) info.inFlightBytes());
        row.put("gauge:lost.bytes", (long) info.lostBytes());
        row.put("gauge:sacked.bytes", (long) info.sackedBytes());
        row.put("gauge:unread.bytes", (long) info.unreadBytes());
        row.put("gauge:out-of-order.bytes", (long) info.outOfOrderBytes());
        row.put("gauge:received.dscp", (long) info.receivedDscp());
        row.put("gauge:pacing.rate", info.pacingRate());
        row.put("gauge:delivery.rate", info.deliveryRate());
        row.put("gauge:delivery.application-limited", info.applicationLimited() ? 1L : 0L);
    }

    /** Returns the TCP options in the notation of {@code ss -i}. */
    private static String options(RdmaRawTcpInfo info) {
        return ((info.timestamps() ? "ts " : "") + (info.sack() ? "sack " : "") + (info.ecn() ? "ecn" : "")).strip();
    }
}
