package io.rdmaraw.channel;

import io.rdmaraw.metrics.internal.MetricTable;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.udp.DatagramCounters;

import java.util.List;

/**
 * Counters of one {@link RdmaRawDatagramChannel}. The event loop updates them with plain stores. Other threads may read
 * slightly outdated values.
 */
public final class RdmaRawDatagramStatistics implements RdmaRawMetered {
    static final MetricTable<RdmaRawDatagramStatistics> TABLE = new MetricTable<RdmaRawDatagramStatistics>()
            .traffic("received.datagrams", RdmaRawDatagramStatistics::receivedDatagrams,
                    "datagrams fired into the pipeline")
            .traffic("received.payload.bytes", RdmaRawDatagramStatistics::receivedBytes, "payload bytes received")
            .traffic("received.by-kernel", RdmaRawDatagramStatistics::receivedByKernel,
                    "datagrams received by the kernel socket on the same port")
            .traffic("received.unsteered", RdmaRawDatagramStatistics::receivedUnsteered,
                    "frames that matched no flow rule of the channel")
            .traffic("received.fragments", RdmaRawDatagramStatistics::receivedFragments, "fragments received")
            .traffic("reassembled", RdmaRawDatagramStatistics::reassembledDatagrams,
                    "datagrams reassembled from fragments")
            .traffic("sent.datagrams", RdmaRawDatagramStatistics::sentDatagrams, "datagrams accepted by the device")
            .traffic("sent.payload.bytes", RdmaRawDatagramStatistics::sentBytes, "payload bytes sent")
            .traffic("sent.fragments", RdmaRawDatagramStatistics::sentFragments, "fragments accepted by the device")
            .traffic("sent.by-kernel", RdmaRawDatagramStatistics::sentByKernel,
                    "datagrams sent by the kernel socket on the same port")
            .traffic("sent.to-self", RdmaRawDatagramStatistics::sentToSelf,
                    "datagrams sent to ports of the same userspace host")
            .drop("bad-checksum", RdmaRawDatagramStatistics::droppedBadChecksum, "datagrams with a wrong checksum")
            .drop("malformed", RdmaRawDatagramStatistics::droppedMalformed,
                    "malformed frames: truncated, impossible lengths, and so on")
            .drop("martian", RdmaRawDatagramStatistics::droppedMartians,
                    "datagrams with an address that is invalid on a link")
            .drop("foreign-vlan", RdmaRawDatagramStatistics::droppedForeignVlans,
                    "frames with a VLAN tag, although the link has none")
            .drop("not-for-channel", RdmaRawDatagramStatistics::droppedNotForChannel,
                    "datagrams for another peer, group or source")
            .drop("not-read", RdmaRawDatagramStatistics::droppedNotRead,
                    "datagrams dropped because reads were paused and SO_RCVBUF was full")
            .otherDrop("closed", RdmaRawDatagramStatistics::droppedAtClose,
                    "unread datagrams when the channel was closed")
            .drop("not-allocated", RdmaRawDatagramStatistics::droppedUnallocated,
                    "datagrams dropped because the channel's ALLOCATOR had no buffer")
            .copy("foreign-allocator", RdmaRawDatagramStatistics::copiedForAllocator,
                    "received datagrams copied because the channel's ALLOCATOR is not the transport's")
            .drop("fragment", RdmaRawDatagramStatistics::droppedFragments,
                    "fragments that overlapped, were too many or too late, or belonged to a malformed packet")
            .otherDrop("unresolved", RdmaRawDatagramStatistics::droppedUnresolved,
                    "datagrams to a next hop with an unknown MAC address")
            .error("port-unreachable", RdmaRawDatagramStatistics::portUnreachable,
                    "ICMP errors about datagrams to a closed port");

    private final DatagramCounters counters;

    RdmaRawDatagramStatistics(DatagramCounters counters) {
        this.counters = counters;
    }

    /**
     * Returns whether the device had no room for the channel's own flow rules. The datagrams of the channel then arrive
     * by a broader rule or through the kernel, at a higher cost per datagram.
     */
    public boolean isCoarselySteered() {
        return counters.coarselySteered;
    }

    /** Returns the number of datagrams that were fired into the pipeline. */
    public long receivedDatagrams() {
        return counters.receivedDatagrams;
    }

    /** Returns the number of payload bytes of all datagrams that were fired into the pipeline. */
    public long receivedBytes() {
        return counters.receivedBytes;
    }

    /** Returns the number of fired datagrams that were received by the kernel socket on the same port. */
    public long receivedByKernel() {
        return counters.receivedByKernel;
    }

    /**
     * Returns the number of frames that matched no flow rule of the channel. They arrived by a broader
     * rule, and the transport dispatched them to the channel.
     */
    public long receivedUnsteered() {
        return counters.receivedUnsteered;
    }

    /**
     * Returns the number of frames that were dropped because their UDP checksum is wrong.
     *
     * <p>A sender on the same host may leave the checksum to offload. On devices where this is expected, such as a veth
     * pair, such frames are accepted. Otherwise run {@code ethtool -K NAME tx off} at the sender.
     */
    public long droppedBadChecksum() {
        return counters.droppedBadChecksum;
    }

    /**
     * Returns the number of malformed frames that were dropped, for example truncated ones or ones with impossible
     * lengths.
     */
    public long droppedMalformed() {
        return counters.droppedMalformed;
    }

    /**
     * Returns the number of packets that were dropped because of an address that must not appear on a link: loopback,
     * 0.0.0.0/8, 240.0.0.0/4, IPv4-mapped IPv6 (RFC 1122 section 3.2.1.3, RFC 6890 section 2.2).
     */
    public long droppedMartians() {
        return counters.droppedMartians;
    }

    /**
     * Returns the number of frames that were dropped because they have a VLAN tag although the interface is not a VLAN.
     * Frames of a VLAN are received by the VLAN's own interface.
     */
    public long droppedForeignVlans() {
        return counters.droppedForeignVlans;
    }

    /**
     * Returns the number of well-formed packets that were steered to the channel but are not for it: wrong peer, group,
     * source or protocol.
     */
    public long droppedNotForChannel() {
        return counters.droppedNotForChannel;
    }

    /**
     * Returns the number of datagrams that were dropped because reads were paused and {@code SO_RCVBUF} bytes were
     * queued.
     */
    public long droppedNotRead() {
        return counters.droppedNotRead;
    }

    /** Returns the number of datagrams that were dropped because they were still queued when the channel closed. */
    public long droppedAtClose() {
        return counters.droppedAtClose;
    }

    /**
     * Returns the number of datagrams that were dropped because the channel's {@code ALLOCATOR} had no buffer. Applies
     * only to allocators other than this transport's.
     */
    public long droppedUnallocated() {
        return counters.droppedUnallocated;
    }

    /**
     * Returns the number of received datagrams that were copied because the channel's {@code ALLOCATOR} is not this
     * transport's.
     */
    public long copiedForAllocator() {
        return counters.copiedForAllocator;
    }

    /** Returns the number of IP fragments received. */
    public long receivedFragments() {
        return counters.fragments.received;
    }

    /** Returns the number of datagrams that were reassembled from fragments. */
    public long reassembledDatagrams() {
        return counters.fragments.reassembled;
    }

    /**
     * Returns the number of fragments that were dropped: overlapping, too many at a time, too late, or part of a
     * malformed packet.
     */
    public long droppedFragments() {
        return counters.fragments.dropped;
    }

    /** Returns the number of datagrams that the device accepted for sending. */
    public long sentDatagrams() {
        return counters.sentDatagrams;
    }

    /** Returns the number of payload bytes of all datagrams that the device accepted. */
    public long sentBytes() {
        return counters.sentBytes;
    }

    /** Returns the number of fragments that the device accepted for sending. */
    public long sentFragments() {
        return counters.sentFragments;
    }

    /** Returns the number of datagrams that were sent by the kernel socket on the same port. */
    public long sentByKernel() {
        return counters.sentByKernel;
    }

    /**
     * Returns the number of datagrams that were sent to ports of the same userspace host. They do not pass a device.
     */
    public long sentToSelf() {
        return counters.sentToSelf;
    }

    /**
     * Returns the number of datagrams that were dropped because the MAC address of the next hop was not resolved in
     * time.
     */
    public long droppedUnresolved() {
        return counters.droppedUnresolved;
    }

    /** Returns the number of datagrams to which a peer replied that the port is closed (ICMP port unreachable). */
    public long portUnreachable() {
        return counters.portUnreachable;
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
