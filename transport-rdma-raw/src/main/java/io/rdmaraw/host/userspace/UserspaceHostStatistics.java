package io.rdmaraw.host.userspace;

import io.rdmaraw.metrics.internal.MetricTable;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.net.ReassemblyCounters;
import io.rdmaraw.wire.ParseVerdict;

import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/**
 * What a userspace host has counted. Written by the loop that drives it with plain stores; other threads read values
 * that may be a little old.
 */
public final class UserspaceHostStatistics implements RdmaRawMetered {
    public static final MetricTable<UserspaceHostStatistics> TABLE = new MetricTable<UserspaceHostStatistics>()
            .traffic("received.arp", core(c -> c.arpReceived), "ARP packets received")
            .traffic("answered.arp", core(c -> c.arpAnswered), "ARP requests answered")
            .traffic("received.solicitations", core(c -> c.solicitationsReceived),
                    "neighbour solicitations received")
            .traffic("answered.solicitations", core(c -> c.solicitationsAnswered),
                    "neighbour solicitations answered")
            .traffic("answered.echoes", core(c -> c.echoesAnswered), "pings answered")
            .traffic("sent.questions", core(c -> c.asked), "asked for the MAC addresses of others")
            .traffic("reassembled", s -> s.fragments.reassembled,
                    "packets put together from fragments")
            .drop("unsound", s -> s.unsoundFrames, "cut short, impossible lengths, wrong checksums, and so on")
            .drop("martian", s -> s.martians, "with an address that no packet on a link can have")
            .drop("foreign-vlan", s -> s.foreignVlans, "with the tag of a VLAN: the link has none")
            .drop("unclaimed", s -> s.unclaimedFrames, "for no channel of the host")
            .drop("foreign", s -> s.foreignPackets, "for other hosts, though at this one's MAC address")
            .drop("owner-queue-full", s -> s.droppedOwnerQueueFull.sum(),
                    "for a port on another loop, which had not taken those before them")
            .drop("fragment", s -> s.fragments.dropped,
                    "overlapping, too many, too late, or of an unsound packet")
            .error("ports-refused", core(c -> c.portsRefused), "senders told that the port is closed")
            .error("packet-errors", core(c -> c.packetErrors),
                    "senders told that their packet is of no use: its protocol, a header, or missing fragments")
            .drop("errors-withheld", core(c -> c.errorsWithheld),
                    "ICMP errors not sent, to bound their rate")
            .error("address-conflicts", core(c -> c.addressConflicts),
                    "others claimed an address of ours");

    private final Supplier<UserspaceHostCounters> counters;
    private final ReassemblyCounters fragments = new ReassemblyCounters();
    long unsoundFrames;
    long martians;
    long foreignVlans;
    /** Packets for no channel of the host. */
    public long unclaimedFrames;
    /** Packets whose destination is no address of the host. */
    long foreignPackets;
    /** Packets dropped because the loop that has their port has not taken those before them yet; senders count too. */
    private final LongAdder droppedOwnerQueueFull = new LongAdder();

    /** @param counters of the host's core */
    public UserspaceHostStatistics(Supplier<UserspaceHostCounters> counters) {
        this.counters = counters;
    }

    /** Returns where reassembly counts. */
    public ReassemblyCounters fragments() {
        return fragments;
    }

    /** Counts a frame that is not accepted. */
    void countRefused(ParseVerdict verdict) {
        switch (verdict) {
            case MARTIAN -> martians++;
            case VLAN_FOREIGN -> foreignVlans++;
            default -> unsoundFrames++;
        }
    }

    /** Any thread. */
    void countOwnerBehind() {
        droppedOwnerQueueFull.increment();
    }

    private static ToLongFunction<UserspaceHostStatistics> core(ToLongFunction<UserspaceHostCounters> counter) {
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
