package io.rdmaraw.host.userspace;

import io.rdmaraw.metrics.internal.MetricTable;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.net.PacketReassembly;
import io.rdmaraw.wire.ParseVerdict;

import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/**
 * Counters of a userspace host. The loop that drives the host writes them with plain stores, except
 * {@link #countOwnerQueueFull}, which any loop may call. Other threads may read slightly old values.
 */
public final class UserspaceHostStatistics implements RdmaRawMetered {
    public static final MetricTable<UserspaceHostStatistics> TABLE = new MetricTable<UserspaceHostStatistics>()
            .traffic("received.arp", hostCounter(c -> c.arpReceived), "ARP packets received")
            .traffic("answered.arp", hostCounter(c -> c.arpAnswered), "ARP requests answered")
            .traffic("received.solicitations", hostCounter(c -> c.solicitationsReceived),
                    "neighbour solicitations received")
            .traffic("answered.solicitations", hostCounter(c -> c.solicitationsAnswered),
                    "neighbour solicitations answered")
            .traffic("answered.echoes", hostCounter(c -> c.echoesAnswered), "pings answered")
            .traffic("sent.questions", hostCounter(c -> c.addressRequestsSent),
                    "requests sent for the MAC addresses of other hosts")
            .traffic("reassembled", s -> s.fragments.reassembled,
                    "packets reassembled from fragments")
            .drop("malformed", s -> s.malformedFrames,
                    "malformed frames: truncated, impossible lengths, wrong checksums, and so on")
            .drop("martian", s -> s.martians, "packets with an address that is invalid on a link")
            .drop("foreign-vlan", s -> s.foreignVlans, "frames with a VLAN tag, although the link has none")
            .drop("unclaimed", s -> s.unclaimedFrames, "frames for no channel of the host")
            .drop("foreign", s -> s.foreignPackets, "packets for other hosts, sent to this host's MAC address")
            .drop("owner-queue-full", s -> s.droppedOwnerQueueFull.sum(),
                    "packets for a port on another loop that has not processed the earlier ones yet")
            .drop("fragment", s -> s.fragments.dropped,
                    "fragments that overlapped, were too many or too late, or belonged to a malformed packet")
            .error("ports-refused", hostCounter(c -> c.portsRefused), "ICMP errors sent because the port is closed")
            .error("packet-errors", hostCounter(c -> c.packetErrors),
                    "ICMP errors sent about packets: unknown protocol, invalid header or missing fragments")
            .otherDrop("errors-withheld", hostCounter(c -> c.errorsWithheld),
                    "ICMP errors not sent because of the rate limit")
            .error("address-conflicts", hostCounter(c -> c.addressConflicts),
                    "claims of this host's addresses by other hosts");

    private final Supplier<UserspaceHostCounters> counters;
    private final PacketReassembly.Counters fragments = new PacketReassembly.Counters();
    long malformedFrames;
    long martians;
    long foreignVlans;
    /** Packets without a matching channel. */
    public long unclaimedFrames;
    /** Packets to an address that the host does not have. */
    long foreignPackets;
    /** Packets dropped because the queue to the loop of their port was full. Incremented on any loop. */
    private final LongAdder droppedOwnerQueueFull = new LongAdder();

    /** @param counters returns the counters of the host */
    public UserspaceHostStatistics(Supplier<UserspaceHostCounters> counters) {
        this.counters = counters;
    }

    /** Returns the counters of reassembly. */
    public PacketReassembly.Counters fragments() {
        return fragments;
    }

    /** Counts a frame that the parser has rejected. */
    void countRefused(ParseVerdict verdict) {
        switch (verdict) {
            case MARTIAN -> martians++;
            case VLAN_FOREIGN -> foreignVlans++;
            default -> malformedFrames++;
        }
    }

    /** Counts a packet dropped because the queue to the loop of its port was full. May be called on any thread. */
    void countOwnerQueueFull() {
        droppedOwnerQueueFull.increment();
    }

    private static ToLongFunction<UserspaceHostStatistics> hostCounter(ToLongFunction<UserspaceHostCounters> counter) {
        return s -> counter.applyAsLong(s.counters.get());
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
