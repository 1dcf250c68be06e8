package io.rdmaraw.testsuite.hostmodel;

/** The kinds of links: {@code up0} is the link of the device, {@code up1} a second uplink, {@code up2} a third link. */
enum Flavor {
    /** AF_XDP on a veth. */
    XDP("soft:xdp:", "veth", "macvlan"),
    /** AF_PACKET on a veth. */
    PACKET("soft:packet:", "veth", "bridge"),
    /** AF_XDP on a veth, with a TUN device as third link. */
    XDP_TUN("soft:xdp:", "veth", "tun"),
    /** AF_PACKET on a bridge. */
    PACKET_BRIDGE("soft:packet:", "bridge", "macvlan"),
    /** AF_PACKET on a macvlan. */
    PACKET_MACVLAN("soft:packet:", "macvlan", "bridge");

    final String provider;
    /** Kind of the device's link. */
    final String first;
    /** Kind of the third link. */
    final String third;

    Flavor(String provider, String first, String third) {
        this.provider = provider;
        this.first = first;
        this.third = third;
    }

    /** Returns whether the third link is a TUN device, which has no neighbours. */
    boolean hasTun() {
        return third.equals("tun");
    }
}
