package io.rdmaraw.testsuite.hostmodel;

import io.rdmaraw.testsuite.sim.SplitMix;

import java.util.ArrayList;
import java.util.List;

/** Generates the packets of a scenario. */
final class ProbeGenerator {
    private static final String[] FAR4 = {"198.51.100.7", "198.51.100.99", "198.51.100.200", "203.0.113.5",
        "8.8.8.8"};
    private static final String[] FAR6 = {"2001:db8:f0::7", "2001:db8:f0::8", "2001:db8:f1::7", "2001:db8:f2::7"};
    private static final String[] MARTIANS4 = {"127.0.0.1", "0.0.0.0", "224.0.0.5", "255.255.255.255", "240.0.0.1"};
    private static final String[] MARTIANS6 = {"::1", "ff02::5", "::"};
    private static final int CONNECTIONS = 2;

    private final SplitMix random;
    private final HostAddresses addresses;
    private int connections;

    ProbeGenerator(SplitMix random, HostAddresses addresses) {
        this.random = random;
        this.addresses = addresses;
    }

    /** Adds a step that opens connections for the whole scenario. */
    void openConnections(List<Step> steps) {
        List<Probe> opened = new ArrayList<>();
        for (int i = 0; i < CONNECTIONS; i++) {
            Probe probe = incoming(Probe.Kind.OPEN_LIVE, random.chance(0.8) ? 0 : 1, random.chance(0.4), false);
            if (probe != null) {
                opened.add(new Probe(probe.kind(), probe.link(), probe.via(), probe.source(), probe.destination(),
                        connections++));
            }
        }
        if (!opened.isEmpty()) {
            steps.add(new Step.Probes(opened));
        }
    }

    /** Returns the packets of one step. */
    Step next() {
        List<Probe> probes = new ArrayList<>();
        for (int i = 0; i < connections; i++) {
            probes.add(new Probe(Probe.Kind.LIVE_DATA, 0, "", "", "", i));
        }
        int count = random.between(6, 12);
        for (int i = 0; i < count; i++) {
            Probe probe = probe();
            if (probe != null) {
                probes.add(probe);
            }
        }
        return new Step.Probes(probes);
    }

    private Probe probe() {
        boolean ipv6 = random.chance(0.4);
        int link = random.pick(0, 0, 0, 0, 0, 1, 1, 2);
        switch (random.below(20)) {
            case 0, 1, 2, 3 -> {
                return incoming(Probe.Kind.SYN, link, ipv6, random.chance(0.1));
            }
            case 4, 5 -> {
                return incoming(Probe.Kind.EXCHANGE, link, ipv6, false);
            }
            case 6 -> {
                return incoming(random.chance(0.2) ? Probe.Kind.URGENT : Probe.Kind.EXCHANGE, link, ipv6, false);
            }
            case 7, 8, 9, 10 -> {
                return incoming(Probe.Kind.DATAGRAM, link, ipv6, random.chance(0.25));
            }
            case 11, 12, 13, 14, 15 -> {
                return outgoing(Probe.Kind.SEND, ipv6);
            }
            case 16 -> {
                HostAddresses.Held held = addresses.random(random);
                return held == null || held.address().startsWith("fe80") || random.chance(0.4) ? null
                        : new Probe(Probe.Kind.LOCAL_CONNECT, -1, "", "", held.host(), 0);
            }
            default -> {
                return outgoing(Probe.Kind.CONNECT, ipv6);
            }
        }
    }

    private Probe incoming(Probe.Kind kind, int link, boolean ipv6, boolean martian) {
        String destination = addresses.randomOf(random, link, ipv6);
        if (destination.isEmpty()) {
            return null;
        }
        if (kind == Probe.Kind.DATAGRAM && !ipv6 && random.chance(0.05)) {
            destination = "10." + link + ".0.255";
        }
        int router = random.between(2, 4);
        String onLink = ipv6 ? destination.startsWith("fe80") ? "fe80::" + random.pick(2, 3)
                : "2001:db8:" + link + "::" + random.between(2, 6) : "10." + link + ".0." + random.between(2, 6);
        boolean isFar = !destination.startsWith("fe80") && random.chance(0.65);
        String source = martian ? martian(destination, ipv6)
                : isFar ? ipv6 ? FAR6[random.below(FAR6.length)] : FAR4[random.below(FAR4.length)] : onLink;
        String via = isFar || martian ? ipv6 ? "fe80::a" : "10." + link + ".0." + router : source;
        int bytes = kind == Probe.Kind.DATAGRAM ? random.pick(8, 8, 100, 1380) : 0;
        return new Probe(kind, link, via, source, destination, bytes);
    }

    private String martian(String destination, boolean ipv6) {
        if (random.chance(0.3)) {
            return destination;
        }
        if (!ipv6 && random.chance(0.2)) {
            return "10.0.0.255";
        }
        return ipv6 ? MARTIANS6[random.below(MARTIANS6.length)] : MARTIANS4[random.below(MARTIANS4.length)];
    }

    private Probe outgoing(Probe.Kind kind, boolean ipv6) {
        int link = random.pick(0, 0, 1, 2);
        int scope = -1;
        String destination;
        switch (random.below(10)) {
            case 0 -> {
                HostAddresses.Held held = addresses.random(random);
                destination = held == null || held.address().startsWith("fe80") ? "127.0.0.1" : held.host();
            }
            case 1 -> {
                if (kind == Probe.Kind.CONNECT) {
                    return null;
                }
                destination = ipv6 ? random.chance(0.5) ? "ff0e::1" : "ff05::1" : "239.1.1.1";
                scope = ipv6 ? 0 : -1;
            }
            case 2 -> {
                scope = ipv6 ? 0 : -1;
                destination = ipv6 ? "ff02::1:7" : random.chance(0.3) ? "255.255.255.255" : "10." + link + ".0.255";
                if (kind == Probe.Kind.CONNECT) {
                    return null;
                }
            }
            case 3, 4, 5 -> {
                if (ipv6) {
                    destination = random.chance(0.6) ? "fe80::" + random.pick(2, 3) : "2001:db8:" + link + "::5";
                    scope = destination.startsWith("fe80") ? link : -1;
                } else {
                    destination = "10." + link + ".0." + random.between(2, 6);
                }
            }
            default -> destination = ipv6 ? FAR6[random.below(FAR6.length)] : FAR4[random.below(FAR4.length)];
        }
        String source = "";
        if (kind == Probe.Kind.CONNECT && random.chance(0.2)) {
            source = addresses.randomOf(random, 0, destination.contains(":"));
            source = source.startsWith("fe80") ? "" : source;
        }
        return new Probe(kind, scope, "", source, destination,
                kind == Probe.Kind.SEND ? random.pick(8, 8, 100, 1380, 2000) : 0);
    }
}
