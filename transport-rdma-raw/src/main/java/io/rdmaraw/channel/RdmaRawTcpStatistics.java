package io.rdmaraw.channel;

import io.netty.util.internal.ObjectUtil;
import io.rdmaraw.tcp.TcpCounters;
import io.rdmaraw.wire.ParseCounters;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;

/**
 * What the TCP of one loop on one device has counted, over all of its connections. Written by the loop with plain
 * stores; other threads read values that may be a little old. {@link RdmaRawPortStatistics#channels()} has it under the
 * name {@code tcp}; where one connection stands tells {@link RdmaRawSocketChannel#tcpInfo()}.
 */
public final class RdmaRawTcpStatistics implements RdmaRawMetered {
    static final MetricTable<RdmaRawTcpStatistics> TABLE = new MetricTable<RdmaRawTcpStatistics>()
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
            .traffic("retransmitted.segments", core(c -> c.retransmittedSegments), "of those sent the repeated ones")
            .traffic("fast-opens", core(c -> c.fastOpens), "connections accepted with data in their SYN")
            .traffic("fast-opens.taken", core(c -> c.fastOpensTaken),
                    "connections opened by this side whose peer took data with the SYN")
            .traffic("syn-cookies.sent", core(c -> c.synCookiesSent), "SYNs answered by a cookie: the backlog was full")
            .traffic("syn-cookies.accepted", core(c -> c.synCookiesAccepted), "connections opened by a cookie")
            .traffic("syn-acks.withheld", core(c -> c.synAcksWithheld),
                    "answers to SYNs that were not repeated, as SYNs overflowed the backlog")
            .traffic("time-wait.reuses", core(c -> c.timeWaitReuses), "connections opened over one in TIME-WAIT")
            .drop("bad-checksum", s -> s.frames.badTransportChecksums(), "their checksum is wrong")
            .drop("unsound", s -> s.frames.unsound(), "cut short, impossible lengths, and so on")
            .drop("martian", s -> s.frames.martians() + s.droppedBroadcasts,
                    "with an address that no packet on a link can have, or SYNs of a subnet's broadcast address")
            .drop("foreign-vlan", s -> s.frames.foreignVlans(), "with the tag of a VLAN, which the link is none of")
            .drop("not-tcp", s -> s.otherFrames, "sound frames that are no segments")
            .drop("no-connection", core(c -> c.unmatchedSegments), "for no connection or server; answered with a reset")
            .drop("foreign", s -> s.droppedForeign, "of no connection, for no unicast address of this host")
            .drop("stray", s -> s.droppedStrays, "of no connection here, when too many were being searched for")
            .drop("loop-behind", s -> s.droppedForwards,
                    "of a connection on another loop, which had not taken those before them")
            .drop("kernel-segments", s -> s.droppedKernelSegments.sum(),
                    "of those by the kernel: of no connection, or too many were on their way to the loops")
            .drop("out-of-window", core(c -> c.unacceptableSegments), "outside of the receive window")
            .drop("old-timestamp", core(c -> c.pawsDrops), "older than what came before (PAWS)")
            .drop("duplicate", core(c -> c.duplicateSegments), "brought nothing new")
            .drop("receive-memory", core(c -> c.receiveMemoryDrops), "the connection's receive memory was full")
            .drop("syn-fin", core(c -> c.synFinDrops), "SYNs that carried FIN too, as no client sends them")
            .drop("time-wait.resets", core(c -> c.timeWaitResetsIgnored), "resets that did not end a TIME-WAIT")
            .drop("out-of-order-pruned", core(c -> c.outOfOrderPrunes),
                    "times that what had come ahead was dropped again, as all connections held too much")
            .drop("backlog-full", core(c -> c.synDrops), "SYNs that found a server's backlog full")
            .drop("syn-cookie", core(c -> c.synCookiesRejected),
                    "segments that should have opened a connection by a SYN cookie, which was forged or too old")
            .drop("unroutable", s -> s.droppedUnroutable, "there was no way to the peer")
            .drop("unresolved", s -> s.droppedUnresolved, "the next hop's MAC is not known")
            .drop("reply-queue-full", core(c -> c.replyDrops), "answers to strangers, of which there were too many")
            .drop("stray-icmp", core(c -> c.icmpIgnored), "ICMP errors about nothing that was in flight")
            .drop("icmp-flood", s -> s.droppedIcmp.sum(), "ICMP errors of which there were too many")
            .copy("small-payload", s -> s.copiedPayloads,
                    "small received payloads copied because receive slots ran low, or their reader is behind")
            .copy("out-of-order", core(c -> c.outOfOrderCopies),
                    "payloads held ahead of their turn copied because receive slots ran low")
            .copy("unregistered-memory", s -> s.copiedSegments.getAsLong(),
                    "sent segments copied because their payload did not lie in registered memory")
            .error("refused-by-backlog", s -> s.refusedByBacklog,
                    "connections reset because nobody accepted those before them")
            .error("timeouts", core(c -> c.timeouts), "connections that ended because the peer did not answer")
            .error("orphan-timeouts", core(c -> c.orphanTimeouts),
                    "closed connections reset because the peer took nothing more, whatever it answered")
            .error("orphan-overflows", core(c -> c.orphanOverflows),
                    "closed connections reset because there were too many, or they held too much")
            .error("released-early", core(c -> c.buffersReleasedEarly),
                    "connections reset because somebody had released what they were to send")
            .error("retransmission-timeouts", core(c -> c.retransmissionTimeouts), "times that nobody acknowledged")
            .error("suspect-paths", core(c -> c.suspectPaths),
                    "times that nobody acknowledged several in a row, so that the next hop was asked for again")
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
    long flows;
    /** Frames that the rules let through and that are no TCP segments. */
    long otherFrames;
    /** ICMP errors that ended no connection. */
    long softErrors;
    /** SYNs from or to the broadcast address of a subnet. */
    long droppedBroadcasts;
    /** Segments to which there was no way. */
    long droppedUnroutable;
    /** Segments dropped because nobody told the next hop's MAC address in time. */
    long droppedUnresolved;
    /** Connections reset because nobody accepted those before them. */
    long refusedByBacklog;
    /** Connections of servers that the kernel carries. */
    long kernelConnections;
    /** Connections that went to another loop, with their channels. */
    long movedConnections;
    /** Segments passed on to the loop that their connection is on. */
    long forwardedSegments;
    /** Segments that other loops were asked about. */
    long searchedSegments;
    /** Segments of those that another loop has taken. */
    long foundSegments;
    /** Segments of no connection whose destination is not this host's. */
    long droppedForeign;
    /** Segments dropped because other loops were being asked about too many. */
    long droppedStrays;
    /** Segments dropped because the loop that has their connection has not taken those before them yet. */
    long droppedForwards;
    /** ICMP errors dropped on the threads that read them. */
    private final LongAdder droppedIcmp = new LongAdder();
    /** Counted on any thread. */
    final LongAdder kernelSegments = new LongAdder();
    /** Counted on any thread. */
    final LongAdder droppedKernelSegments = new LongAdder();
    /** Counted on any loop that a server lives on. */
    final LongAdder unsteeredAddresses = new LongAdder();
    /** Small payloads copied because receive slots ran low, or their connection has many unread. */
    long copiedPayloads;

    RdmaRawTcpStatistics(TcpCounters core, ParseCounters frames, LongSupplier timeWait,
                         LongSupplier copiedSegments,
                         IntFunction<CompletableFuture<RdmaRawTcpSockets>> sockets) {
        this.core = core;
        this.frames = frames;
        this.timeWait = timeWait;
        this.copiedSegments = copiedSegments;
        this.sockets = sockets;
    }

    /** Any thread. */
    void countDroppedIcmp() {
        droppedIcmp.increment();
    }

    private static ToLongFunction<RdmaRawTcpStatistics> core(ToLongFunction<TcpCounters> counter) {
        return s -> counter.applyAsLong(s.core);
    }

    /**
     * Asks the loop which servers and connections it has. Any thread; it takes as long as the loop takes to come to it.
     *
     * @param most connections to tell of, the busiest; 0 or more
     * @return completed on the loop; fails when the loop has ended
     */
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
