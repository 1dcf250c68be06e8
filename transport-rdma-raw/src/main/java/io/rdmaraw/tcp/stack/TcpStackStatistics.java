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

/** Counts what the TCP of one loop does on one device. The loop writes with plain stores; any thread reads. */
public final class TcpStackStatistics implements RdmaRawTcpStatistics {
    public static final MetricTable<TcpStackStatistics> TABLE = new MetricTable<TcpStackStatistics>()
            .traffic("received.segments", core(c -> c.segmentsIn), "segments received")
            .traffic("received.payload.bytes", core(c -> c.payloadBytesIn), "bytes of their payload")
            .traffic("sent.segments", core(c -> c.segmentsOut), "segments sent")
            .traffic("sent.payload.bytes", core(c -> c.payloadBytesOut), "bytes of their payload")
            .traffic("opened.connections", core(c -> c.activeOpens), "connections opened by this side")
            .traffic("delayed.opens", core(c -> c.opensDelayed),
                    "of those opened here, connections whose SYN waited because many others had no answer yet")
            .traffic("accepted.connections", core(c -> c.passiveOpens), "connections opened by peers")
            .traffic("kernel.connections", s -> s.kernelConnections,
                    "connections from and to this host and by other interfaces, which the kernel carries")
            .traffic("moved.connections", s -> s.movedConnections, "connections that went to another loop")
            .traffic("forwarded.segments", s -> s.forwardedSegments, "passed on to the loop of their connection")
            .traffic("kernel.segments", s -> s.kernelSegments.sum(),
                    "put together by the kernel from fragments, or behind extension headers")
            .traffic("searched.segments", s -> s.searchedSegments,
                    "of no connection here: other loops were asked, as those that share a rule have changed")
            .traffic("found.segments", s -> s.foundSegments, "of them that another loop has taken")
            .traffic("handed-over.segments", s -> s.handedOverSegments,
                    "of no connection here, passed on to the process that takes over the port")
            .traffic("retransmitted.segments", core(c -> c.retransmittedSegments), "of those sent the repeated ones")
            .traffic("fast-opens", core(c -> c.fastOpens), "connections accepted with data in their SYN")
            .traffic("fast-opens.taken", core(c -> c.fastOpensTaken),
                    "connections opened by this side whose peer took data with the SYN")
            .traffic("syn-cookies.sent", core(c -> c.synCookiesSent), "SYNs answered by a cookie: the backlog was full")
            .traffic("syn-cookies.accepted", core(c -> c.synCookiesAccepted), "connections opened by a cookie")
            .traffic("syn-acks.withheld", core(c -> c.synAcksWithheld),
                    "answers to SYNs that were not repeated, as SYNs overflowed the backlog")
            .traffic("congestion-marks.received", core(c -> c.congestionMarksIn), "segments that came with a mark (CE)")
            .traffic("congestion-marks.echoed", core(c -> c.congestionMarksEchoed),
                    "of those sent, the ones that peers have counted marks on (RFC 9768)")
            .traffic("time-wait.reuses", core(c -> c.timeWaitReuses), "connections opened over one in TIME-WAIT")
            .drop("bad-checksum", s -> s.frames.badTransportChecksums() + s.badKernelSegments.sum(),
                    "their checksum is wrong")
            .drop("unsound", s -> s.frames.unsound(), "cut short, impossible lengths, and so on")
            .drop("martian", s -> s.frames.martians() + s.droppedBroadcasts,
                    "with an address that no packet on a link can have, or SYNs of a subnet's broadcast address")
            .drop("foreign-vlan", s -> s.frames.foreignVlans(), "with the tag of a VLAN: the link has none")
            .drop("not-tcp", s -> s.otherFrames, "sound frames that are no segments")
            .drop("no-connection", core(c -> c.unmatchedSegments), "for no connection or server; answered with a reset")
            .drop("foreign", s -> s.droppedForeign, "of no connection, for no unicast address of this host")
            .drop("unmatched", s -> s.droppedUnmatched, "of no connection here, when too many were being searched for")
            .drop("other-process", s -> s.droppedForOtherProcess,
                    "of no connection here, and perhaps of one of another process that has the port too")
            .drop("forward-queue-full", s -> s.droppedForwards,
                    "of a connection on another loop, which had not taken those before them")
            .drop("kernel-segments", s -> s.droppedKernelSegments.sum(),
                    "of those by the kernel: of no connection, or too many were on their way to the loops")
            .drop("out-of-window", core(c -> c.unacceptableSegments), "outside of the receive window")
            .drop("old-timestamp", core(c -> c.pawsDrops), "older than what came before (PAWS)")
            .drop("duplicate", core(c -> c.duplicateSegments), "brought nothing new")
            .drop("receive-memory", core(c -> c.receiveMemoryDrops), "the connection's receive memory was full")
            .drop("syn-fin", core(c -> c.synFinDrops), "SYNs that carried FIN too, as no client sends them")
            .drop("accept-deferred", core(c -> c.acceptsDeferred),
                    "ends of handshakes without data, for which the server waits (TCP_DEFER_ACCEPT)")
            .drop("time-wait.resets", core(c -> c.timeWaitResetsIgnored), "resets that did not end a TIME-WAIT")
            .drop("out-of-order-pruned", core(c -> c.outOfOrderPrunes),
                    "times that what had come ahead was dropped again, as all connections held too much")
            .drop("backlog-full", core(c -> c.synDrops), "SYNs that found a server's backlog full")
            .drop("syn-cookie", core(c -> c.synCookiesRejected),
                    "segments that should have opened a connection by a SYN cookie, which was forged or too old")
            .drop("unroutable", s -> s.droppedUnroutable, "there was no way to the peer")
            .drop("route-not-asked", s -> s.droppedUnasked, "replies to unknown senders whose routes the kernel"
                    + " would have been asked for too often")
            .drop("unresolved", s -> s.droppedUnresolved, "the next hop's MAC is not known")
            .drop("reply-queue-full", core(c -> c.replyDrops),
                    "answers to segments of no connection, of which there were too many")
            .drop("unmatched-icmp", core(c -> c.icmpIgnored), "ICMP errors about nothing that was in flight")
            .drop("icmp-flood", s -> s.droppedIcmp.sum(), "ICMP errors of which there were too many")
            .copy("small-payload", s -> s.copiedPayloads,
                    "small received payloads copied because receive slots ran low, or their reader is behind")
            .copy("out-of-order", core(c -> c.outOfOrderCopies),
                    "payloads held ahead of their turn copied because receive slots ran low")
            .copy("foreign-allocator", s -> s.copiedForAllocator,
                    "buffers that received data were copied into because a channel's ALLOCATOR is not the transport's")
            .copy("unregistered-memory", s -> s.copiedSegments.getAsLong(),
                    "sent segments copied because their payload did not lie in registered memory")
            .error("refused-by-backlog", s -> s.refusedByBacklog,
                    "connections reset because the backlog of unaccepted ones was full")
            .error("timeouts", core(c -> c.timeouts), "connections that ended because the peer did not answer")
            .error("orphan-timeouts", core(c -> c.orphanTimeouts),
                    "closed connections reset because the peer took nothing more, whatever it answered")
            .error("orphan-overflows", core(c -> c.orphanOverflows),
                    "closed connections reset because there were too many, or they held too much")
            .error("released-early", core(c -> c.buffersReleasedEarly),
                    "connections reset because a handler had released what they were to send")
            .error("retransmission-timeouts", core(c -> c.retransmissionTimeouts),
                    "times that no acknowledgment came in time")
            .error("suspect-paths", core(c -> c.suspectPaths),
                    "times that several such timeouts in a row made the stack resolve the next hop again")
            .error("soft-errors", s -> s.softErrors, "ICMP errors about connections that did not end them")
            .error("resets.received", core(c -> c.resetsIn), "resets that ended a connection")
            .error("resets.sent", core(c -> c.resetsOut), "resets sent")
            .error("blind-attacks", core(c -> c.blindAttackSegments), "resets and SYNs that RFC 5961 fends off")
            .error("path-mtu-reductions", core(c -> c.pathMtuReductions), "times that a router said too big")
            .error("path-mtu-doubts", core(c -> c.pathMtuReductionsDelayed),
                    "times that a router said too big of a size that had arrived before; a timeout decides")
            .error("path-mtu-black-holes", core(c -> c.pathMtuBlackHoles), "times that big segments seemed to vanish")
            .work("path-mtu-false-alarms", core(c -> c.pathMtuFalseAlarms),
                    "of these, times that a big segment came through after all")
            .add(RdmaRawMetric.Kind.LEVEL, "unsteered-addresses", s -> s.unsteeredAddresses.sum(),
                    "addresses that servers listen on and the device has no room for a rule of")
            .add(RdmaRawMetric.Kind.LEVEL, "connections", s -> s.flows, "connections that are open")
            .add(RdmaRawMetric.Kind.LEVEL, "time-wait", s -> s.timeWait.getAsLong(), "connections in TIME-WAIT");

    private final TcpCounters core;
    private final ParseCounters frames;
    private final LongSupplier timeWait;
    private final LongSupplier copiedSegments;
    private final IntFunction<CompletableFuture<RdmaRawTcpSockets>> sockets;
    /** Connections that are open, with or without a channel. */
    public long flows;
    /** Frames that the rules let through and that are no TCP segments. */
    public long otherFrames;
    /** ICMP errors that ended no connection. */
    public long softErrors;
    /** SYNs from or to the broadcast address of a subnet. */
    public long droppedBroadcasts;
    /** Segments to which there was no way. */
    public long droppedUnroutable;
    /** Replies to unknown senders whose way was not looked for. */
    public long droppedUnasked;
    /** Segments dropped because the next hop's MAC address was not resolved in time. */
    public long droppedUnresolved;
    /** Connections reset because the backlog of unaccepted ones was full. */
    public long refusedByBacklog;
    /** Connections of servers that the kernel carries. */
    public long kernelConnections;
    /** Connections that went to another loop, with their channels. */
    public long movedConnections;
    /** Segments passed on to the loop that their connection is on. */
    public long forwardedSegments;
    /** Segments that other loops were asked about. */
    public long searchedSegments;
    /** Segments of those that another loop has taken. */
    public long foundSegments;
    /** Segments of no connection whose destination is not this host's. */
    public long droppedForeign;
    /** Segments dropped because other loops were being asked about too many. */
    public long droppedUnmatched;
    /** Segments passed on to the process that takes over the port. */
    public long handedOverSegments;
    /** Segments of no connection here, for a port that another process has too. */
    public long droppedForOtherProcess;
    /** Segments dropped because the loop that has their connection has not taken those before them yet. */
    public long droppedForwards;
    /** ICMP errors dropped on the threads that read them. */
    private final LongAdder droppedIcmp = new LongAdder();
    /** Counted on any thread. */
    public final LongAdder kernelSegments = new LongAdder();
    /** Counted on any thread. */
    public final LongAdder droppedKernelSegments = new LongAdder();
    /** Segments by the kernel whose checksum is wrong. Counted on any thread. */
    public final LongAdder badKernelSegments = new LongAdder();
    /** Counted on any loop that a server lives on. */
    public final LongAdder unsteeredAddresses = new LongAdder();
    /** Small payloads copied because receive slots ran low, or their connection has many unread. */
    public long copiedPayloads;
    /** Buffers that received data were copied into because the channel's allocator is not of this transport. */
    public long copiedForAllocator;

    public TcpStackStatistics(TcpCounters core, ParseCounters frames, LongSupplier timeWait,
                         LongSupplier copiedSegments,
                         IntFunction<CompletableFuture<RdmaRawTcpSockets>> sockets) {
        this.core = core;
        this.frames = frames;
        this.timeWait = timeWait;
        this.copiedSegments = copiedSegments;
        this.sockets = sockets;
    }

    /** Any thread. */
    public void countDroppedIcmp() {
        droppedIcmp.increment();
    }

    private static ToLongFunction<TcpStackStatistics> core(ToLongFunction<TcpCounters> counter) {
        return s -> counter.applyAsLong(s.core);
    }

    @Override
    public CompletableFuture<RdmaRawTcpSockets> sockets(int most) {
        return sockets.apply(ObjectUtil.checkPositiveOrZero(most, "most"));
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
