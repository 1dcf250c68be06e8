package io.rdmaraw.channel;

import io.rdmaraw.metrics.internal.MetricTable;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.net.ReassemblyCounters;

import java.util.List;

/**
 * What one datagram channel has counted. Written by its loop with plain stores; other threads read values that may be a
 * little old.
 */
public final class RdmaRawDatagramStatistics implements RdmaRawMetered {
    static final MetricTable<RdmaRawDatagramStatistics> TABLE = new MetricTable<RdmaRawDatagramStatistics>()
            .traffic("received.datagrams", RdmaRawDatagramStatistics::receivedDatagrams, "handed to the pipeline")
            .traffic("received.payload.bytes", RdmaRawDatagramStatistics::receivedBytes, "bytes of their contents")
            .traffic("received.from-kernel", RdmaRawDatagramStatistics::receivedFromKernel,
                    "of them by the kernel's socket of the same port")
            .traffic("received.unsteered", RdmaRawDatagramStatistics::receivedUnsteered,
                    "frames that came by no rule of the channel's own")
            .traffic("received.fragments", RdmaRawDatagramStatistics::receivedFragments, "fragments received")
            .traffic("reassembled", RdmaRawDatagramStatistics::reassembledDatagrams, "put together from fragments")
            .traffic("sent.datagrams", RdmaRawDatagramStatistics::sentDatagrams, "that the device took")
            .traffic("sent.payload.bytes", RdmaRawDatagramStatistics::sentBytes, "bytes of their contents")
            .traffic("sent.fragments", RdmaRawDatagramStatistics::sentFragments, "fragments that the device took")
            .traffic("sent.to-kernel", RdmaRawDatagramStatistics::sentToKernel, "by the kernel's socket")
            .traffic("sent.to-self", RdmaRawDatagramStatistics::sentToSelf, "to ports of the same host of our own")
            .drop("bad-checksum", RdmaRawDatagramStatistics::droppedBadChecksum, "their checksum is wrong")
            .drop("unsound", RdmaRawDatagramStatistics::droppedUnsound, "cut short, impossible lengths, and so on")
            .drop("martian", RdmaRawDatagramStatistics::droppedMartians,
                    "with an address that no packet on a link can have")
            .drop("foreign-vlan", RdmaRawDatagramStatistics::droppedForeignVlans,
                    "with the tag of a VLAN: the link has none")
            .drop("not-for-channel", RdmaRawDatagramStatistics::droppedNotForChannel, "another peer, group or source")
            .drop("not-read", RdmaRawDatagramStatistics::droppedBufferFull, "reads were paused and SO_RCVBUF was full")
            .drop("closed", RdmaRawDatagramStatistics::droppedAtClose, "waited to be read when the channel closed")
            .drop("not-allocated", RdmaRawDatagramStatistics::droppedUnallocated,
                    "the channel's ALLOCATOR, which is not the transport's, had no buffer")
            .copy("foreign-allocator", RdmaRawDatagramStatistics::copiedForAllocator,
                    "received datagrams copied because the channel's ALLOCATOR is not the transport's")
            .drop("fragment", RdmaRawDatagramStatistics::droppedFragments,
                    "overlapping, too many, too late, or of an unsound packet")
            .drop("unresolved", RdmaRawDatagramStatistics::droppedUnresolved, "the next hop's MAC is not known")
            .error("port-unreachable", RdmaRawDatagramStatistics::portUnreachable, "sent to a closed port");

    long receivedDatagrams;
    long receivedBytes;
    long receivedFromKernel;
    long receivedUnsteered;
    long droppedBadChecksum;
    long droppedUnsound;
    long droppedMartians;
    long droppedForeignVlans;
    long droppedNotForChannel;
    long droppedBufferFull;
    long droppedAtClose;
    long droppedUnallocated;
    long copiedForAllocator;
    final ReassemblyCounters fragments = new ReassemblyCounters();
    long sentDatagrams;
    long sentBytes;
    long sentFragments;
    long sentToKernel;
    long sentToSelf;
    long portUnreachable;
    long droppedUnresolved;
    boolean coarselySteered;

    RdmaRawDatagramStatistics() {
    }

    /**
     * Tells whether the device had no room for the channel's own rules, so that its datagrams come together with
     * others', or by the kernel: they arrive, but cost more.
     */
    public boolean isCoarselySteered() {
        return coarselySteered;
    }

    /** Datagrams handed to the pipeline. */
    public long receivedDatagrams() {
        return receivedDatagrams;
    }

    /** Bytes of their contents. */
    public long receivedBytes() {
        return receivedBytes;
    }

    /** Those of the datagrams that came by the kernel's socket of the same port. */
    public long receivedFromKernel() {
        return receivedFromKernel;
    }

    /** Frames that were handed over by the channel's own host, as they came by no rule of the channel's. */
    public long receivedUnsteered() {
        return receivedUnsteered;
    }

    /**
     * Frames whose UDP checksum is wrong. Those that a sender of the same host left out are computed where they are
     * expected, as on a veth pair; elsewhere {@code ethtool -K NAME tx off} at the sender makes it write them.
     */
    public long droppedBadChecksum() {
        return droppedBadChecksum;
    }

    /** Frames that were not a sound packet: cut short, impossible lengths, and so on. */
    public long droppedUnsound() {
        return droppedUnsound;
    }

    /**
     * Packets with an address that no packet on a link can have: loopback, 0.0.0.0/8, 240.0.0.0/4, IPv4-mapped in
     * IPv6 (RFC 1122 section 3.2.1.3, RFC 6890 section 2.2).
     */
    public long droppedMartians() {
        return droppedMartians;
    }

    /** Frames with the tag of a VLAN, where the link is none: those of a VLAN come by its own interface. */
    public long droppedForeignVlans() {
        return droppedForeignVlans;
    }

    /** Sound packets that were steered here and are not for the channel: another peer, group, source or protocol. */
    public long droppedNotForChannel() {
        return droppedNotForChannel;
    }

    /** Datagrams dropped because reads were paused and {@code SO_RCVBUF} bytes were waiting. */
    public long droppedBufferFull() {
        return droppedBufferFull;
    }

    /** Datagrams that waited to be read when the channel closed. */
    public long droppedAtClose() {
        return droppedAtClose;
    }

    /** Datagrams dropped because the channel's {@code ALLOCATOR}, which is not the transport's, had no buffer. */
    public long droppedUnallocated() {
        return droppedUnallocated;
    }

    /** Received datagrams that were copied because the channel's {@code ALLOCATOR} is not the transport's. */
    public long copiedForAllocator() {
        return copiedForAllocator;
    }

    /** Fragments received. */
    public long receivedFragments() {
        return fragments.received;
    }

    /** Datagrams put together from fragments. */
    public long reassembledDatagrams() {
        return fragments.reassembled;
    }

    /** Fragments dropped: overlapping, too many at a time, too late, or of a packet that is unsound as a whole. */
    public long droppedFragments() {
        return fragments.dropped;
    }

    /** Datagrams that the device took. */
    public long sentDatagrams() {
        return sentDatagrams;
    }

    /** Bytes of their contents. */
    public long sentBytes() {
        return sentBytes;
    }

    /** Fragments that the device took. */
    public long sentFragments() {
        return sentFragments;
    }

    /** Datagrams sent by the kernel's socket of the same port. */
    public long sentToKernel() {
        return sentToKernel;
    }

    /** Datagrams sent to ports of the same host of our own, which no device carries. */
    public long sentToSelf() {
        return sentToSelf;
    }

    /** Datagrams that were not sent because the next hop's MAC address did not become known in time. */
    public long droppedUnresolved() {
        return droppedUnresolved;
    }

    /** Datagrams sent to a closed port. */
    public long portUnreachable() {
        return portUnreachable;
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
