package io.rdmaraw.testsuite.net;

import java.time.Duration;

/** One end of a veth pair: a network interface with a MAC, an IPv4 and an IPv6 address. */
public final class VethEnd {
    private static final Duration LINK_LIMIT = Duration.ofSeconds(10);

    private final NetworkNamespace namespace;
    private final String name;
    private final String mac;
    private final String ipv4;
    private final String ipv6;

    VethEnd(NetworkNamespace namespace, String name, String mac, String ipv4, String ipv6) {
        this.namespace = namespace;
        this.name = name;
        this.mac = mac;
        this.ipv4 = ipv4;
        this.ipv6 = ipv6;
    }

    /** Where the interface is. */
    public NetworkNamespace namespace() {
        return namespace;
    }

    /** The interface's name, such as {@code rr2s_0a}. */
    public String name() {
        return name;
    }

    /** As six pairs of hex digits with colons. */
    public String mac() {
        return mac;
    }

    /** Without the prefix length, which is {@value VethPair#IPV4_PREFIX_BITS}. */
    public String ipv4() {
        return ipv4;
    }

    /** Without the prefix length, which is {@value VethPair#IPV6_PREFIX_BITS}. */
    public String ipv6() {
        return ipv6;
    }

    /** The interface's number in its namespace. */
    public int index() {
        return Integer.parseInt(read("ifindex"));
    }

    /** A counter of the kernel, such as {@code rx_packets}. */
    public long counter(String counter) {
        return Long.parseLong(read("statistics/" + counter));
    }

    // Not from this process's /sys, which shows only this process's namespace.
    private String read(String file) {
        return namespace.run("cat", "/sys/class/net/" + name + '/' + file).output().strip();
    }

    public void up() {
        namespace.run("ip", "link", "set", "dev", name, "up");
    }

    public void down() {
        namespace.run("ip", "link", "set", "dev", name, "down");
    }

    /** @param mtuBytes without the Ethernet header */
    public void setMtu(int mtuBytes) {
        namespace.run("ip", "link", "set", "dev", name, "mtu", Integer.toString(mtuBytes));
    }

    /** Removes the interface, and with it the other end of the pair. */
    public void remove() {
        namespace.run("ip", "link", "del", "dev", name);
    }

    void awaitCarrier() {
        Await.until("a carrier on " + this, LINK_LIMIT,
                () -> namespace.run("ip", "-o", "link", "show", "dev", name).output().contains("state UP"));
    }

    /**
     * Gives the interface its addresses. Nothing is left to happen on its own time: no duplicate address detection, no
     * link-local address with its solicitations, so that a test sees the frames it asked for.
     */
    void configure() {
        configureLink();
        namespace.run("ip", "addr", "add", ipv4 + '/' + VethPair.IPV4_PREFIX_BITS, "dev", name);
        // Absent where the kernel runs without IPv6; tests that need it fail by themselves then.
        namespace.attempt("ip", "-6", "addr", "add", ipv6 + '/' + VethPair.IPV6_PREFIX_BITS, "dev", name, "nodad");
    }

    /** Gives the interface its MAC address and nothing above it. */
    void configureLink() {
        namespace.run("ip", "link", "set", "dev", name, "address", mac, "addrgenmode", "none");
    }

    /** Tells the kernel once and for all whose MAC address the other end has: nothing waits for ARP, or overtakes. */
    void setNeighbour(VethEnd other) {
        namespace.run("ip", "neigh", "replace", other.ipv4, "lladdr", other.mac, "nud", "permanent", "dev", name);
        namespace.attempt("ip", "-6", "neigh", "replace", other.ipv6, "lladdr", other.mac, "nud", "permanent", "dev",
                name);
    }

    /**
     * Makes the kernel put whole frames on the wire: without this a veth carries TCP segments of 64 KiB and checksums
     * that nobody has filled in, as both ends trust each other.
     */
    void offloadsOff() {
        namespace.run("ethtool", "-K", name, "tx", "off", "tso", "off", "gso", "off", "gro", "off", "txvlan", "off",
                "rxvlan", "off");
    }

    @Override
    public String toString() {
        return name + " in " + namespace;
    }
}
