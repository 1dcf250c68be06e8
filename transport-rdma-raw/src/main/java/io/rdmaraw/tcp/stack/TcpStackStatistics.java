package io.rdmaraw.tcp.stack;

import io.netty.util.internal.ObjectUtil;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.metrics.RdmaRawTcpSockets;
import io.rdmaraw.metrics.RdmaRawTcpStatistics;
import io.rdmaraw.metrics.internal.MetricTable;
import io.rdmaraw.tcp.TcpCounters;
import io.rdmaraw.wire.ParseCounters;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;

/**
 * Counters of the TCP of one loop on one device. The loop writes the fields with plain stores, except the adders, which
 * other threads increment too. Any thread may read them.
 */
public final class TcpStackStatistics implements RdmaRawTcpStatistics {
    public static final MetricTable<TcpStackStatistics> TABLE = new MetricTable<TcpStackStatistics>()
            .traffic("received.segments", engine(c -> c.segmentsIn), "segments received")
            .traffic("received.payload.bytes", engine(c -> c.payloadBytesIn), "payload bytes received")
            .traffic("sent.segments", engine(c -> c.segmentsOut), "segments sent")
            .traffic("sent.payload.bytes", engine(c -> c.payloadBytesOut), "payload bytes sent")
            .traffic("opened.connections", engine(c -> c.activeOpens), "connections opened by this side")
            .traffic("delayed.opens", engine(c -> c.opensDelayed),
                    "connections opened by this side with a SYN that was delayed, because too many SYNs were"
                            + " unanswered")
            .traffic("accepted.connections", engine(c -> c.passiveOpens), "connections opened by peers")
            .traffic("kernel.connections", s -> s.kernelConnections,
                    "connections carried by the kernel: with this host or through other interfaces")
            .traffic("moved.connections", s -> s.movedConnections, "connections that moved to another loop")
            .traffic("forwarded.segments", s -> s.forwardedSegments,
                    "segments forwarded to the loop of their connection")
            .traffic("kernel.segments", s -> s.kernelSegments.sum(),
                    "segments that the kernel reassembled from fragments, or with extension headers")
            .traffic("searched.segments", s -> s.searchedSegments,
                    "segments without a connection on the loop that were searched for on other loops")
            .traffic("found.segments", s -> s.foundSegments, "searched segments that another loop accepted")
            .traffic("handed-over.segments", s -> s.handedOverSegments,
                    "segments without a connection, forwarded to the process that takes over the port")
            .traffic("retransmitted.segments", engine(c -> c.retransmittedSegments), "segments retransmitted")
            .traffic("fast-opens.passive", engine(c -> c.passiveFastOpens),
                    "connections accepted with data in their SYN")
            .traffic("fast-opens.active", engine(c -> c.activeFastOpens),
                    "connections opened by this side with SYN data that the peer accepted")
            .traffic("syn-cookies.sent", engine(c -> c.synCookiesSent),
                    "SYNs answered with a cookie because the backlog was full")
            .traffic("syn-cookies.accepted", engine(c -> c.synCookiesAccepted), "connections opened by a cookie")
            .traffic("syn-acks.withheld", engine(c -> c.synAcksWithheld),
                    "SYN-ACKs not retransmitted because SYNs overflowed the backlog")
            .traffic("congestion-marks.received", engine(c -> c.congestionMarksIn),
                    "segments received with a congestion mark (CE)")
            .traffic("congestion-marks.echoed", engine(c -> c.congestionMarksEchoed),
                    "sent segments that peers received with a congestion mark (RFC 9768)")
            .traffic("time-wait.reuses", engine(c -> c.timeWaitReuses), "connections opened over one in TIME-WAIT")
            .traffic("time-wait.overflows", engine(c -> c.timeWaitOverflows),
                    "connections that left TIME-WAIT early: beyond maxTimeWaitConnections, or too many descriptors")
            .drop("bad-checksum", s -> s.parseCounters.badTransportChecksums() + s.badKernelSegments.sum(),
                    "segments with a wrong checksum")
            .drop("malformed", s -> s.parseCounters.malformed(),
            "malformed frames: truncated, impossible lengths, and so on")
            .drop("martian", s -> s.parseCounters.martians() + s.droppedMartians,
                    "frames with an address that is invalid on a link: this host's own as the source, a subnet's"
                            + " broadcast address, and others")
            .drop("foreign-vlan", s -> s.parseCounters.foreignVlans(),
            "frames with a VLAN tag, although the link has none")
            .drop("not-tcp", s -> s.nonTcpFrames, "valid frames that are not TCP segments")
            .drop("no-connection", engine(c -> c.unmatchedSegments),
                    "segments without a connection or server; answered with a reset")
            .drop("foreign", s -> s.droppedForeign,
                    "segments without a connection, for an address that is no unicast address of this host")
            .drop("unmatched", s -> s.droppedUnmatched,
                    "segments without a connection on the loop while too many searches were active")
            .drop("other-process", s -> s.droppedForOtherProcess,
                    "segments without a connection that another process with the same port may own")
            .otherDrop("forward-queue-full", s -> s.droppedForwards,
                    "segments for another loop that has not processed the earlier ones yet")
            .otherDrop("kernel-segments", s -> s.droppedKernelSegments.sum(),
                    "segments from the kernel without a connection, or beyond the limit of queued ones")
            .drop("out-of-window", engine(c -> c.unacceptableSegments), "segments outside of the receive window")
            .drop("old-timestamp", engine(c -> c.pawsDrops), "segments with an old timestamp (PAWS)")
            .drop("duplicate", engine(c -> c.duplicateSegments), "segments without new data")
            .drop("receive-memory", engine(c -> c.receiveMemoryDrops),
                    "segments beyond the receive memory of a connection or of all connections")
            .drop("syn-fin", engine(c -> c.synFinDrops), "SYNs with FIN, which no client sends")
            .drop("accept-deferred", engine(c -> c.acceptsDeferred),
                    "ACKs of handshakes without data, while the server waits for data (TCP_DEFER_ACCEPT)")
            .drop("time-wait.resets", engine(c -> c.timeWaitResetsIgnored), "resets that did not end a TIME-WAIT")
            .otherDrop("out-of-order-pruned", engine(c -> c.outOfOrderPrunes),
                    "times that a connection lost its out-of-order data because all connections held too much")
            .drop("backlog-full", engine(c -> c.synDrops), "SYNs that found a server's backlog full")
            .drop("syn-cookie", engine(c -> c.synCookiesRejected),
                    "ACKs with a SYN cookie that was forged or expired")
            .otherDrop("other-link", s -> s.droppedOtherLink,
                    "segments to peers that are reached through another link than the device's")
            .otherDrop("unroutable", s -> s.droppedUnroutable, "segments to peers without a route")
            .otherDrop("route-lookup-limited", s -> s.droppedLookupLimited,
                    "replies to unknown senders beyond the limit of route lookups in the kernel")
            .otherDrop("unresolved", s -> s.droppedUnresolved, "segments to a next hop with an unknown MAC address")
            .otherDrop("reply-queue-full", engine(c -> c.droppedReplies),
                    "replies to segments without a connection, beyond their limit")
            .otherDrop("unmatched-icmp", engine(c -> c.icmpIgnored), "ICMP errors that do not match data in flight")
            .otherDrop("icmp-flood", s -> s.droppedIcmp.sum(), "ICMP errors beyond the limit of queued ones")
            .copy("small-payload", s -> s.copiedPayloads,
                    "small received payloads copied because receive slots ran low or their reader was slow")
            .copy("out-of-order", engine(c -> c.outOfOrderCopies),
                    "out-of-order payloads copied because receive slots ran low")
            .copy("foreign-allocator", s -> s.copiedForAllocator,
                    "buffers filled with copies because a channel's ALLOCATOR is not the transport's")
            .copy("unregistered-memory", s -> s.copiedSegments.getAsLong(),
                    "sent segments copied because their payload did not lie in registered memory")
            .error("accept-queue-full", s -> s.droppedAcceptQueueFull,
                    "SYNs and ACKs of handshakes dropped because the backlog of unaccepted connections was full")
            .error("connection-timeouts", engine(c -> c.timedOutConnections),
                    "connections that ended because the peer did not answer")
            .error("orphan-timeouts", engine(c -> c.orphanTimeouts),
                    "closed connections reset because the peer accepted no more data, even if it answered probes")
            .error("orphan-overflows", engine(c -> c.orphanOverflows),
                    "closed connections reset because of their number or their queued bytes")
            .error("released-early", engine(c -> c.buffersReleasedEarly),
                    "connections reset because a handler released data before it was sent")
            .error("retransmission-timeouts", engine(c -> c.retransmissionTimeouts),
                    "retransmission timeouts")
            .error("suspect-paths", engine(c -> c.suspectPaths),
                    "times that consecutive timeouts made the stack resolve the next hop again")
            .error("soft-errors", s -> s.softErrors, "ICMP errors that did not end their connection")
            .error("resets.received", engine(c -> c.resetsIn), "resets that ended a connection")
            .error("resets.sent", engine(c -> c.resetsOut), "resets sent")
            .error("rejected-segments", engine(c -> c.rejectedSegments), "resets, SYNs and ACKs rejected by RFC 5961")
            .error("path-mtu-reductions", engine(c -> c.pathMtuReductions),
                    "times that a router reported a packet as too big")
            .error("path-mtu-deferred", engine(c -> c.pathMtuReductionsDeferred),
                    "reports of too big packets that contradict delivered ones; a timeout decides")
            .error("path-mtu-black-holes", engine(c -> c.pathMtuBlackHoles),
                    "times that large segments were apparently dropped on the path")
            .work("path-mtu-false-alarms", engine(c -> c.pathMtuFalseAlarms),
                    "suspected black holes through which a large segment was delivered")
            .add(RdmaRawMetric.Kind.GAUGE, "unsteered-addresses", s -> s.unsteeredAddresses.sum(),
                    "listening addresses without a flow rule because the device has no room")
            .add(RdmaRawMetric.Kind.GAUGE, "connections", s -> s.openConnections, "open connections")
            .add(RdmaRawMetric.Kind.GAUGE, "time-wait", s -> s.timeWaitCount.getAsLong(), "connections in TIME-WAIT");

    private final TcpCounters engineCounters;
    private final ParseCounters parseCounters;
    private final LongSupplier timeWaitCount;
    private final LongSupplier copiedSegments;
    private final IntFunction<CompletableFuture<RdmaRawTcpSockets>> sockets;
    /** Open connections, with or without a channel. */
    public long openConnections;
    /** Frames that matched a flow rule but are not TCP segments. */
    public long nonTcpFrames;
    /** ICMP errors that did not end a connection. */
    public long softErrors;
    /** Segments from this host's own address or a subnet's broadcast address, or SYNs to one. */
    public long droppedMartians;
    /** Segments dropped because there is no route to the destination. */
    public long droppedUnroutable;
    /** Segments dropped because the route uses another link and the MAC address they came from cannot be used. */
    public long droppedOtherLink;
    /** Replies to unknown senders that were dropped because the rate limit for route lookups was reached. */
    public long droppedLookupLimited;
    /** Segments dropped because the next hop's MAC address was not resolved in time. */
    public long droppedUnresolved;
    /** SYNs and ACKs of handshakes dropped because the accept queue was full. */
    public long droppedAcceptQueueFull;
    /** Connections of servers that the kernel carries. */
    public long kernelConnections;
    /** Connections that moved to another loop with their channels. */
    public long movedConnections;
    /** Segments forwarded to the loop of their connection. */
    public long forwardedSegments;
    /** Segments searched for on other loops. */
    public long searchedSegments;
    /** Searched segments that another loop has processed. */
    public long foundSegments;
    /** Segments without a connection and with a destination that is not an address of this host. */
    public long droppedForeign;
    /** Segments dropped because too many searches were in progress. */
    public long droppedUnmatched;
    /** Segments forwarded to the process that takes over the port. */
    public long handedOverSegments;
    /** Unmatched segments dropped because another process has the port, too. */
    public long droppedForOtherProcess;
    /** Segments dropped because the loop of their connection is too far behind. */
    public long droppedForwards;
    /** ICMP errors dropped because too many were queued. Incremented on the threads that read them. */
    private final LongAdder droppedIcmp = new LongAdder();
    /** Segments received from the kernel. Incremented on any thread. */
    public final LongAdder kernelSegments = new LongAdder();
    /** Segments from the kernel that were dropped. Incremented on any thread. */
    public final LongAdder droppedKernelSegments = new LongAdder();
    /** Segments from the kernel with a wrong checksum. Incremented on any thread. */
    public final LongAdder badKernelSegments = new LongAdder();
    /** Server addresses without a rule because the device has no room. Changed on the loops of the servers. */
    public final LongAdder unsteeredAddresses = new LongAdder();
    /** Small payloads copied because receive slots ran low or because the connection has many unread pieces. */
    public long copiedPayloads;
    /** Buffers copied because the channel's allocator is not the transport's. */
    public long copiedForAllocator;

    public TcpStackStatistics(TcpCounters engineCounters, ParseCounters parseCounters, LongSupplier timeWaitCount,
                         LongSupplier copiedSegments,
                         IntFunction<CompletableFuture<RdmaRawTcpSockets>> sockets) {
        this.engineCounters = engineCounters;
        this.parseCounters = parseCounters;
        this.timeWaitCount = timeWaitCount;
        this.copiedSegments = copiedSegments;
        this.sockets = sockets;
    }

    /** Counts an ICMP error that was dropped. May be called on any thread. */
    public void countDroppedIcmp() {
        droppedIcmp.increment();
    }

    private static ToLongFunction<TcpStackStatistics> engine(ToLongFunction<TcpCounters> counter) {
        return s -> counter.applyAsLong(s.engineCounters);
    }

    @Override
    public CompletableFuture<RdmaRawTcpSockets> sockets(int maxConnections) {
        return sockets.apply(ObjectUtil.checkPositiveOrZero(maxConnections, "maxConnections"));
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
