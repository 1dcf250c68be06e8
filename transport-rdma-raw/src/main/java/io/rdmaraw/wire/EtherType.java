package io.rdmaraw.wire;

/** EtherType values (IEEE 802 numbers). */
public final class EtherType {
    public static final int IPV4 = 0x0800;
    /** Address resolution protocol. */
    public static final int ARP = 0x0806;
    /** 802.1Q customer tag. */
    public static final int VLAN = 0x8100;
    /** 802.1ad service tag. */
    public static final int SERVICE_VLAN = 0x88a8;
    /** Service tag used by equipment older than 802.1ad. */
    public static final int LEGACY_QINQ = 0x9100;
    public static final int IPV6 = 0x86dd;
    /** Link aggregation and other slow protocols. */
    public static final int SLOW_PROTOCOLS = 0x8809;
    /** Link layer discovery protocol. */
    public static final int LLDP = 0x88cc;

    private EtherType() {
    }

    /** Returns whether a VLAN tag follows this EtherType. */
    public static boolean isVlan(int etherType) {
        return etherType == VLAN || etherType == SERVICE_VLAN || etherType == LEGACY_QINQ;
    }
}
