package io.rdmaraw.testsuite.net;

/** One end of a veth pair: a network interface with a MAC address, an IPv4 address and an IPv6 address. */
public final class VethEnd {
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

    /** Returns the namespace of the interface. */
    public NetworkNamespace namespace() {
        return namespace;
    }

    /** Returns the name of the interface, such as {@code rr2s_0a}. */
    public String name() {
        return name;
    }

    /** Returns the MAC address as six pairs of hex digits with colons. */
    public String mac() {
        return mac;
    }

    /** Returns the IPv4 address. The prefix length is {@value VethPair#IPV4_PREFIX_BITS}. */
    public String ipv4() {
        return ipv4;
    }

    /** Returns the IPv6 address. The prefix length is {@value VethPair#IPV6_PREFIX_BITS}. */
    public String ipv6() {
        return ipv6;
    }

    /** Returns the interface index in its namespace. */
    public int index() {
        return Integer.parseInt(read("ifindex"));
    }

    /** Returns a counter of the kernel, such as {@code rx_packets}. */
    public long counter(String counter) {
        return Long.parseLong(read("statistics/" + counter));
    }

    // Reads in the namespace of the interface, because this process's /sys only shows its own namespace.
    private String read(String file) {
        return namespace.run("cat", "/sys/class/net/" + name + '/' + file).output().strip();
    }

    public void up() {
        namespace.run("ip", "link", "set", "dev", name, "up");
    }

    public void down() {
        namespace.run("ip", "link", "set", "dev", name, "down");
    }

    /**
     * Sets the MTU.
     *
     * @param mtuBytes MTU without the Ethernet header
     */
    public void setMtu(int mtuBytes) {
        namespace.run("ip", "link", "set", "dev", name, "mtu", Integer.toString(mtuBytes));
    }

    /** Removes the interface, which also removes the other end of the pair. */
    public void remove() {
        namespace.run("ip", "link", "del", "dev", name);
    }

    /** Waits until this end sees that both are up. Until then, the kernel drops what is sent here. */
    public void awaitCarrier() {
        Await.until("a carrier on " + this,
                () -> namespace.run("ip", "-o", "link", "show", "dev", name).output().contains("state UP"));
    }

    /**
     * Assigns the addresses. Duplicate address detection and link-local addresses are disabled, so that a test sees
     * only the frames that it caused.
     */
    void configure() {
        configureLink();
        namespace.run("ip", "addr", "add", ipv4 + '/' + VethPair.IPV4_PREFIX_BITS, "dev", name);
        // Not checked: without IPv6 in the kernel the command fails, and only tests that need IPv6 fail later.
        namespace.attempt("ip", "-6", "addr", "add", ipv6 + '/' + VethPair.IPV6_PREFIX_BITS, "dev", name, "nodad");
    }

    /** Sets only the MAC address of the interface. */
    void configureLink() {
        namespace.run("ip", "link", "set", "dev", name, "address", mac, "addrgenmode", "none");
    }

    /**
     * Adds permanent neighbour entries for the other end, so that packets neither wait for ARP nor overtake each other.
     */
    void setNeighbour(VethEnd other) {
        namespace.run("ip", "neigh", "replace", other.ipv4, "lladdr", other.mac, "nud", "permanent", "dev", name);
        namespace.attempt("ip", "-6", "neigh", "replace", other.ipv6, "lladdr", other.mac, "nud", "permanent", "dev",
                name);
    }

    /**
     * Disables all offloads, so that the kernel sends frames as on a cable. By default, a veth carries TCP segments of
     * up to 64 KiB and incomplete checksums.
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
