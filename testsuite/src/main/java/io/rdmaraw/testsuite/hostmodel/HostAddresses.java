package io.rdmaraw.testsuite.hostmodel;

import io.rdmaraw.testsuite.sim.SplitMix;

import java.util.ArrayList;
import java.util.List;

/** The addresses that a generated host may have. */
final class HostAddresses {
    /**
     * An address.
     *
     * @param link    number of the link, starting at 0; -1 for the loopback interface
     * @param address address with its prefix length
     */
    record Held(int link, String address) {
        /** Returns the address without the prefix length. */
        String host() {
            return address.substring(0, address.indexOf('/'));
        }
    }

    private final List<Held> all = new ArrayList<>();

    void add(int link, String address) {
        Held held = new Held(link, address);
        if (!all.contains(held)) {
            all.add(held);
        }
    }

    /** Returns a random address, or null if there is none. */
    Held random(SplitMix random) {
        return all.isEmpty() ? null : all.get(random.below(all.size()));
    }

    /** Returns a random destination of one IP version for packets that arrive on a link, or an empty string. */
    String randomOf(SplitMix random, int link, boolean ipv6) {
        boolean ofOthers = random.chance(0.1);
        List<String> fitting = all.stream()
                .filter(held -> ofOthers && !held.address().startsWith("fe80") || held.link() == link
                        || held.link() < 0)
                .map(Held::host).filter(host -> host.contains(":") == ipv6).toList();
        return fitting.isEmpty() ? "" : fitting.get(random.below(fitting.size()));
    }

    /** Returns a random IPv4 address, or an empty string. */
    String randomSource4(SplitMix random) {
        List<String> fitting = all.stream().map(Held::host).filter(host -> !host.contains(":")).toList();
        return fitting.isEmpty() ? "" : fitting.get(random.below(fitting.size()));
    }
}
