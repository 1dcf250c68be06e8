package io.rdmaraw.testsuite.net;

/**
 * Two interfaces connected by a virtual cable. Both are up and have addresses of the same subnet.
 *
 * @param ours the end that the code under test opens
 * @param peer the other end, used by the kernel or a stock program
 */
public record VethPair(VethEnd ours, VethEnd peer) {
    static final int IPV4_PREFIX_BITS = 28;
    static final int IPV6_PREFIX_BITS = 64;

    static VethPair create(int number, NetworkNamespace ourNamespace, NetworkNamespace peerNamespace,
            Offloads offloads) {
        Subnet subnet = Subnet.unused(number);
        VethPair pair = join(end(ourNamespace, number, 'a', 1, subnet), end(peerNamespace, number, 'b', 2, subnet));
        try {
            pair.ours.configure();
            pair.peer.configure();
            pair.up(offloads);
            return pair;
        } catch (Throwable e) {
            pair.remove();
            throw e;
        }
    }

    /** Creates the interfaces of two ends. They are still down. */
    static VethPair join(VethEnd ours, VethEnd peer) {
        VethPair pair = new VethPair(ours, peer);
        String[] add = {"link", "add", pair.ours.name(), "type", "veth", "peer", "name", pair.peer.name()};
        Ip.run(add);
        try {
            move(pair.ours);
            move(pair.peer);
            return pair;
        } catch (Throwable e) {
            pair.remove();
            throw e;
        }
    }

    /** Removes the pair by the end that is still in this namespace. */
    private void remove() {
        Ip.attempt("link", "del", "dev", ours.name());
        Ip.attempt("link", "del", "dev", peer.name());
    }

    static VethEnd end(NetworkNamespace namespace, int number, char letter, int host, Subnet subnet) {
        long pid = ProcessHandle.current().pid();
        String mac = String.format("02:72:%02x:%02x:%02x:%x%x", pid >> 8 & 0xff, pid & 0xff, number >> 4 & 0xff,
                number & 0xf, host);
        return new VethEnd(namespace, NetworkNames.networkInterface(number, letter), mac, subnet.ipv4(host),
                subnet.ipv6(host));
    }

    private static void move(VethEnd end) {
        if (!end.namespace().isCurrent()) {
            Ip.run("link", "set", "dev", end.name(), "netns", end.namespace().name());
        }
    }

    void up(Offloads offloads) {
        for (VethEnd end : new VethEnd[] {ours, peer}) {
            if (offloads == Offloads.OFF) {
                end.offloadsOff();
            }
            end.up();
        }
        ours.awaitCarrier();
        peer.awaitCarrier();
    }

    void close() {
        // Ends in named namespaces are removed with the namespace.
        if (ours.namespace().isCurrent()) {
            Ip.attempt("link", "del", "dev", ours.name());
        }
        if (peer.namespace().isCurrent()) {
            Ip.attempt("link", "del", "dev", peer.name());
        }
    }
}
