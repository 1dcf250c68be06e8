package io.rdmaraw.channel;

import io.rdmaraw.host.ReassemblyCounters;
import io.rdmaraw.route.OwnHostCounters;
import io.rdmaraw.wire.ParseVerdict;

import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/**
 * What a host of our own has counted. Written by the loop that drives it with plain stores; other threads read values
 * that may be a little old.
 */
final class OwnHostStatistics implements RdmaRawMetered {
    static final MetricTable<OwnHostStatistics> TABLE = new MetricTable<OwnHostStatistics>()
            .traffic("received.arp", core(OwnHostCounters::arpReceived), "ARP packets received")
            .traffic("answered.arp", core(OwnHostCounters::arpAnswered), "ARP requests answered")
            .traffic("received.solicitations", core(OwnHostCounters::solicitationsReceived),
                    "neighbour solicitations received")
            .traffic("answered.solicitations", core(OwnHostCounters::solicitationsAnswered),
                    "neighbour solicitations answered")
            .traffic("answered.echoes", core(OwnHostCounters::echoesAnswered), "pings answered")
            .traffic("sent.questions", core(OwnHostCounters::asked), "asked for the MAC addresses of others")
            .traffic("reassembled", s -> s.fragments.reassembled(),
                    "packets put together from fragments")
            .drop("unsound", s -> s.unsoundFrames, "cut short, impossible lengths, wrong checksums, and so on")
            .drop("martian", s -> s.martians, "with an address that no packet on a link can have")
            .drop("foreign-vlan", s -> s.foreignVlans, "with the tag of a VLAN, which the link is none of")
            .drop("unclaimed", s -> s.unclaimedFrames, "for nobody on the host")
            .drop("foreign", s -> s.foreignPackets, "for other hosts, though at this one's MAC address")
            .drop("owner-behind", s -> s.droppedOwnerBehind.sum(),
                    "for a port on another loop, which had not taken those before them")
            .drop("fragment", s -> s.fragments.dropped(),
                    "overlapping, too many, too late, or of an unsound packet")
            .error("ports-refused", core(OwnHostCounters::portsRefused), "senders told that nobody has the port")
            .error("packet-errors", core(OwnHostCounters::packetErrors),
                    "senders told that their packet is of no use: its protocol, a header, or missing fragments")
            .drop("errors-withheld", core(OwnHostCounters::errorsWithheld), "ICMP errors not sent, to bound their rate")
            .error("address-conflicts", core(OwnHostCounters::addressConflicts), "others claimed an address of ours");

    private final Supplier<OwnHostCounters> counters;
    private final ReassemblyCounters fragments = new ReassemblyCounters();
    long unsoundFrames;
    long martians;
    long foreignVlans;
    /** Packets that nobody on the host wants. */
    long unclaimedFrames;
    /** Packets whose destination is no address of the host. */
    long foreignPackets;
    /** Packets dropped because the loop that has their port has not taken those before them yet; senders count too. */
    private final LongAdder droppedOwnerBehind = new LongAdder();

    /** @param counters of the host's core */
    OwnHostStatistics(Supplier<OwnHostCounters> counters) {
        this.counters = counters;
    }

    /** Returns where reassembly counts. */
    ReassemblyCounters fragments() {
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
        droppedOwnerBehind.increment();
    }

    private static ToLongFunction<OwnHostStatistics> core(ToLongFunction<OwnHostCounters> counter) {
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
