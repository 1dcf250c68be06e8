package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/** ARP for IPv4 over Ethernet (RFC 826). */
public final class ArpPacket {
    /** Length of a packet without the Ethernet header. */
    public static final int LENGTH_BYTES = 28;
    /** Operation: request. */
    public static final int REQUEST = 1;
    /** Operation: reply. */
    public static final int REPLY = 2;
    /** First six bytes of a supported packet: hardware type 1, protocol IPv4, address lengths 6 and 4. */
    private static final long ETHERNET_IPV4 = 0x0001_0800_0604L;

    private ArpPacket() {
    }

    /** Returns whether the packet is for IPv4 over Ethernet. */
    public static boolean isEthernetIpv4(long address) {
        return NetworkOrder.getU48(address) == ETHERNET_IPV4;
    }

    public static int operation(long address) {
        return NetworkOrder.getU16(address + 6);
    }

    /** Returns the MAC address of the sender. */
    public static long senderMac(long address) {
        return NetworkOrder.getU48(address + 8);
    }

    /** Returns the IPv4 address of the sender; 0 in a probe (RFC 5227). */
    public static int senderIp(long address) {
        return NetworkOrder.getInt(address + 14);
    }

    /** Returns the IPv4 address of the target. */
    public static int targetIp(long address) {
        return NetworkOrder.getInt(address + 24);
    }

    /** Writes a complete packet. */
    public static void write(long address, int operation, long senderMac, int senderIp, long targetMac, int targetIp) {
        NetworkOrder.putU48(address, ETHERNET_IPV4);
        NetworkOrder.putU16(address + 6, operation);
        NetworkOrder.putU48(address + 8, senderMac);
        NetworkOrder.putInt(address + 14, senderIp);
        NetworkOrder.putU48(address + 18, targetMac);
        NetworkOrder.putInt(address + 24, targetIp);
    }
}
