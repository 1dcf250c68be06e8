package io.rdmaraw.testsuite.hostmodel;

import io.rdmaraw.testsuite.sim.SplitMix;

import java.util.ArrayList;
import java.util.List;

/**
 * Generates a scenario from a seed: addresses and routes, then packets, then changes followed by packets. Commands may
 * fail, for instance because a route already exists; the kernel rejects them on both hosts alike.
 */
final class HostGenerator {
    private static final String[] FAR4 = {"198.51.100.0/24", "198.51.100.0/25", "198.51.100.7/32", "203.0.113.0/24",
        "default"};
    private static final String[] FAR6 = {"2001:db8:f0::/48", "2001:db8:f0::7/128", "2001:db8:f1::/48", "default"};
    private static final int FIRST_PREFERENCE = 100;
    private static final int MAX_RULES = 8;

    private final SplitMix random;
    private final Flavor flavor;
    private final List<Step> steps = new ArrayList<>();
    private final HostAddresses addresses = new HostAddresses();
    private final ProbeGenerator probes;
    /** Routes in the form of {@code route del}. */
    private final List<String> routes = new ArrayList<>();
    private final List<Integer> nexthops = new ArrayList<>();
    private int rules;

    private HostGenerator(long seed) {
        SplitMix source = new SplitMix(seed);
        random = source.split(1);
        flavor = Flavor.values()[source.split(2).pick(0, 0, 0, 1, 1, 2, 3, 4)];
        probes = new ProbeGenerator(source.split(3), addresses);
    }

    static Scenario scenario(long seed) {
        HostGenerator generator = new HostGenerator(seed);
        generator.generate();
        return new Scenario(seed, generator.flavor, List.copyOf(generator.steps));
    }

    private void generate() {
        setUp();
        probes.openConnections(steps);
        int changes = random.between(1, 5);
        for (int i = 0; i <= changes; i++) {
            if (i > 0) {
                int count = random.between(1, 3);
                for (int j = 0; j < count; j++) {
                    change();
                }
            }
            steps.add(probes.next());
        }
    }

    private void add(String command) {
        steps.add(new Step.Change(command));
    }

    private void setUp() {
        for (int link = 0; link < Side.LINKS; link++) {
            if (link == 0 || random.chance(link == 1 ? 0.9 : 0.4)) {
                addAddresses(link);
            }
        }
        if (random.chance(0.3)) {
            addAddress(-1, "192.0.2.77/32", "");
        }
        if (random.chance(0.2)) {
            addAddress(-1, "2001:db8:ff::77/128", "");
        }
        int count = random.between(1, 5);
        for (int i = 0; i < count; i++) {
            addRoute();
        }
        if (random.chance(0.3)) {
            nexthop();
        }
        if (random.chance(0.15)) {
            rule();
        }
        if (random.chance(0.1)) {
            add("rp_filter " + random.pick(1, 2));
        }
    }

    private void addAddresses(int link) {
        if (random.chance(0.9)) {
            addAddress(link, "10." + link + ".0.1/24", "");
        }
        if (random.chance(0.2)) {
            moreAddresses4(link);
        }
        if (random.chance(0.7)) {
            boolean linkLocalFirst = random.chance(0.5);
            if (linkLocalFirst) {
                addAddress(link, "fe80::1/64", "nodad");
            }
            addAddress(link, "2001:db8:" + link + "::1/64", "nodad");
            if (!linkLocalFirst) {
                addAddress(link, "fe80::1/64", "nodad");
            }
            if (random.chance(0.2)) {
                addAddress(link, "2001:db8:" + link + "::99/64", "nodad preferred_lft 0");
            }
        }
        if (random.chance(0.5)) {
            permanentNeighbors(link);
        }
    }

    private void moreAddresses4(int link) {
        switch (random.below(6)) {
            case 0 -> addAddress(link, "10." + link + ".0.9/24", "");
            // An address in the subnet of the first link.
            case 1 -> addAddress(link, "10.0.0.7/24", "");
            case 2 -> addAddress(link, "10." + link + ".7.0/31", "");
            case 3 -> addAddress(link, "10." + link + ".8.1/32", "");
            case 4 -> addAddress(link, "10." + link + ".9.1/24", "scope link");
            default -> addAddress(link, "10." + link + ".10.1/24", "preferred_lft 0");
        }
    }

    private void addAddress(int link, String address, String options) {
        String family = address.contains(":") ? "-6 " : "";
        add(family + "addr add " + address + " dev " + (link < 0 ? "lo" : "up" + link)
                + (options.isEmpty() ? "" : " " + options));
        addresses.add(link, address);
    }

    /** Returns the addresses for which commands change the neighbour entries. */
    static List<String> routers(int link) {
        return List.of("10." + link + ".0.2", "10." + link + ".0.3", "10." + link + ".0.4",
                "2001:db8:" + link + "::2", "fe80::a");
    }

    private void permanentNeighbors(int link) {
        for (String router : List.of("10." + link + ".0.2", "2001:db8:" + link + "::2", "fe80::a")) {
            add("neigh replace " + router + " lladdr " + Macs.text(Macs.of(link, Frame.ofText(router))) + " dev up"
                    + link + " nud permanent");
        }
    }

    private void change() {
        switch (random.below(22)) {
            case 0, 1, 2, 3, 4, 5 -> addRoute();
            case 6, 7, 8 -> deleteRoute();
            case 9 -> linkDownAndUp();
            case 10 -> {
                int link = random.below(2);
                add("link set up" + link + " down");
                if (random.chance(0.3)) {
                    addRoute();
                }
            }
            case 11 -> add("link set up" + random.below(2) + " up");
            case 12 -> addAddresses(random.below(Side.LINKS));
            case 13 -> moreAddresses4(random.below(Side.LINKS));
            case 14 -> deleteAddress();
            case 15, 19 -> nexthop();
            case 20 -> add("rp_filter " + random.pick(0, 1, 2));
            case 16 -> rule();
            case 17 -> neighbor();
            case 18 -> routerAdvertisement();
            default -> add("link set up" + random.below(2) + " mtu " + random.pick(1280, 1400, 1500));
        }
    }

    private void linkDownAndUp() {
        int link = random.below(2);
        add("link set up" + link + " down");
        add("link set up" + link + " up");
        if (random.chance(0.5)) {
            addRoute();
        }
    }

    private void addRoute() {
        if (random.chance(0.65)) {
            addRoute4();
        } else {
            addRoute6();
        }
    }

    private static String verb(SplitMix random) {
        return new String[] {"add", "add", "append", "replace", "replace"}[random.below(5)];
    }

    private void addRoute4() {
        String destination = FAR4[random.below(FAR4.length)];
        String key = destination + (random.chance(0.15) ? " tos 0x10" : "")
                + (random.chance(0.3) ? " metric " + random.pick(10, 20) : "")
                + (rules > 0 && random.chance(0.3) ? " table 100" : "");
        String verb = verb(random);
        String type = random.chance(0.15) ? refusal() + ' ' : "";
        String way = !type.isEmpty() ? "" : way4();
        String source = type.isEmpty() && random.chance(0.1) ? addresses.randomSource4(random) : "";
        // Attributes of a route precede "nexthop": ip exits if one follows it.
        add("route " + verb + ' ' + type + key + (source.isEmpty() ? "" : " src " + source)
                + (type.isEmpty() ? metrics() : "") + way);
        routes.add(type + key);
    }

    private String refusal() {
        return new String[] {"blackhole", "unreachable", "prohibit"}[random.below(3)];
    }

    private String metrics() {
        return random.chance(0.1) ? " mtu " + (random.chance(0.3) ? "lock " : "") + random.pick(1300, 1400) : "";
    }

    private int anyLink() {
        return random.pick(0, 0, 0, 1, 1, 2);
    }

    private String way4() {
        int link = anyLink();
        switch (random.below(10)) {
            case 0 -> {
                return " via inet6 fe80::" + (random.chance(0.5) ? "a" : "b") + " dev up" + link;
            }
            case 1 -> {
                return " dev up" + link;
            }
            case 2 -> {
                int other = anyLink();
                return " nexthop via 10." + link + ".0.2 dev up" + link + " nexthop via 10." + other + ".0.3 dev up"
                        + other;
            }
            case 3 -> {
                return nexthops.isEmpty() ? " via 10." + link + ".0.4 dev up" + link
                        : " nhid " + nexthops.get(random.below(nexthops.size()));
            }
            case 4 -> {
                return " via 10." + link + ".77.2 dev up" + link + " onlink";
            }
            case 5 -> {
                // The harness does not answer ARP requests for this address.
                return " via 10." + link + ".0.240 dev up" + link;
            }
            default -> {
                return " via 10." + link + ".0." + random.between(2, 4) + " dev up" + link;
            }
        }
    }

    private void addRoute6() {
        String destination = FAR6[random.below(FAR6.length)];
        String key = destination + (random.chance(0.1) ? " from 2001:db8:0::/64" : "")
                + (random.chance(0.3) ? " metric " + random.pick(10, 20) : "")
                + (rules > 0 && random.chance(0.3) ? " table 100" : "");
        String type = random.chance(0.15) ? refusal() + ' ' : "";
        int link = anyLink();
        int other = anyLink();
        String way = !type.isEmpty() ? "" : switch (random.below(6)) {
            case 0 -> " dev up" + link;
            case 1 -> " nexthop via 2001:db8:" + link + "::2 dev up" + link + " nexthop via 2001:db8:" + other
                    + "::3 dev up" + other;
            case 2 -> " via 2001:db8:" + link + "::" + random.between(2, 4) + " dev up" + link;
            default -> " via fe80::" + (random.chance(0.5) ? "a" : "b") + " dev up" + link;
        };
        add("-6 route " + verb(random) + ' ' + type + key + (type.isEmpty() ? metrics() : "") + way);
        routes.add("-6 " + type + key);
    }

    private void deleteRoute() {
        if (routes.isEmpty()) {
            addRoute();
            return;
        }
        String route = routes.get(random.below(routes.size()));
        add(route.startsWith("-6 ") ? "-6 route del " + route.substring(3) : "route del " + route);
    }

    private void deleteAddress() {
        HostAddresses.Held held = addresses.random(random);
        if (held != null) {
            add((held.address().contains(":") ? "-6 " : "") + "addr del " + held.address() + " dev "
                    + (held.link() < 0 ? "lo" : "up" + held.link()));
        }
    }

    private void nexthop() {
        if (!nexthops.isEmpty() && random.chance(0.5)) {
            add("nexthop del id " + nexthops.get(random.below(nexthops.size())));
            return;
        }
        int id = random.between(1, 4);
        int link = anyLink();
        if (id == 4) {
            add("-6 nexthop replace id 4 via fe80::b dev up" + link);
            add("-6 route replace " + FAR6[random.below(FAR6.length)] + " nhid 4");
        } else {
            add("nexthop replace id " + id + " via 10." + link + ".0." + random.between(2, 4) + " dev up" + link);
            add("route replace " + FAR4[random.below(FAR4.length)] + " nhid " + id);
        }
        nexthops.add(id);
    }

    private void rule() {
        if (rules >= MAX_RULES) {
            return;
        }
        int preference = FIRST_PREFERENCE + rules++;
        boolean ipv6 = random.chance(0.4);
        String selector = ipv6 ? random.chance(0.5) ? "from 2001:db8:0::1" : "to 2001:db8:f0::/48"
                : random.chance(0.5) ? "from 10.0.0.1" : "to 198.51.100.0/24";
        add((ipv6 ? "-6 " : "") + "rule add pref " + preference + ' ' + selector + " lookup 100");
        int link = anyLink();
        add(ipv6 ? "-6 route replace default via fe80::b dev up" + link + " table 100"
                : "route replace default via 10." + link + ".0.3 dev up" + link + " table 100");
    }

    private void neighbor() {
        int link = flavor.hasTun() ? random.below(2) : anyLink();
        String router = random.chance(0.6) ? "10." + link + ".0." + random.between(2, 4)
                : random.chance(0.5) ? "fe80::a" : "2001:db8:" + link + "::2";
        add(switch (random.below(4)) {
            // "neigh del" of a missing entry would end ip.
            case 0 -> "neigh flush to " + router + " dev up" + link + " nud all";
            case 1 -> "neigh replace " + router + " lladdr 06:77:00:00:00:0" + random.between(1, 3) + " dev up" + link
                    + " nud permanent";
            case 2 -> "neigh replace " + router + " lladdr " + Macs.text(Macs.of(link, Frame.ofText(router)))
                    + " dev up" + link + " nud stale";
            default -> "neigh replace " + router + " lladdr " + Macs.text(Macs.of(link, Frame.ofText(router)))
                    + " dev up" + link + " nud reachable";
        });
    }

    private void routerAdvertisement() {
        int link = random.below(2);
        add("ra up" + link + " fe80::" + (random.chance(0.5) ? "a" : "b") + ' ' + random.pick(1800, 1800, 0) + ' '
                + random.pick(0, 0, 1, 3));
    }
}
