package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/** The Ethernet II header: destination, source, EtherType. */
public final class EthernetHeader {
    /** Length of the header without tags. */
    public static final int LENGTH_BYTES = 14;
    /**
     * Minimum frame length without the frame check sequence. Senders pad shorter frames (IEEE 802.3 section
     * 4.2.3.3).
     */
    public static final int MIN_FRAME_BYTES = 60;
    public static final long BROADCAST = 0xffff_ffff_ffffL;
    private static final long GROUP_BIT = 0x0100_0000_0000L;

    private EthernetHeader() {
    }

    /** Returns the destination MAC address. */
    public static long destination(long address) {
        return NetworkOrder.getU48(address);
    }

    /** Returns the source MAC address. */
    public static long source(long address) {
        return NetworkOrder.getU48(address + 6);
    }

    /** Returns the EtherType, or the length of an 802.3 frame. */
    public static int etherType(long address) {
        return NetworkOrder.getU16(address + 12);
    }

    /** Writes the complete header. */
    public static void write(long address, long destination, long source, int etherType) {
        NetworkOrder.putLong(address, destination << 16 | (source >>> 32 & 0xffff));
        NetworkOrder.putInt(address + 8, (int) source);
        NetworkOrder.putU16(address + 12, etherType);
    }

    /** Returns whether a MAC address is multicast or broadcast. */
    public static boolean isGroup(long mac) {
        return (mac & GROUP_BIT) != 0;
    }

    /** Returns the multicast MAC address of an IPv4 group (RFC 1112 section 6.4). */
    public static long multicastOfIpv4(int group) {
        return 0x0100_5e00_0000L | (group & 0x7f_ffff);
    }

    /** Returns the multicast MAC address of an IPv6 group, given its lower half (RFC 2464 section 7). */
    public static long multicastOfIpv6(long low) {
        return 0x3333_0000_0000L | (low & 0xffff_ffffL);
    }
}
