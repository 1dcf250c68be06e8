package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/** The IPv6 header (RFC 8200) and the fragment header (section 4.5). */
public final class Ipv6Header {
    /** Length of the fixed header. */
    public static final int LENGTH_BYTES = 40;
    /** Length of the fragment extension header. */
    public static final int FRAGMENT_LENGTH_BYTES = 8;

    private Ipv6Header() {
    }

    public static int version(long address) {
        return NetworkOrder.getU8(address) >>> 4;
    }

    /** Returns the traffic class: DSCP and ECN. */
    public static int trafficClass(long address) {
        return NetworkOrder.getU16(address) >>> 4 & 0xff;
    }

    /** Returns the length of everything after the fixed header. */
    public static int payloadLengthBytes(long address) {
        return NetworkOrder.getU16(address + 4);
    }

    /** Returns the type of the header that follows. */
    public static int nextHeader(long address) {
        return NetworkOrder.getU8(address + 6);
    }

    public static int hopLimit(long address) {
        return NetworkOrder.getU8(address + 7);
    }

    /** Returns the upper half of the source address. */
    public static long sourceHigh(long address) {
        return NetworkOrder.getLong(address + 8);
    }

    /** Returns the lower half of the source address. */
    public static long sourceLow(long address) {
        return NetworkOrder.getLong(address + 16);
    }

    /** Returns the upper half of the destination address. */
    public static long destinationHigh(long address) {
        return NetworkOrder.getLong(address + 24);
    }

    /** Returns the lower half of the destination address. */
    public static long destinationLow(long address) {
        return NetworkOrder.getLong(address + 32);
    }

    /** Writes the fixed header without the addresses. */
    public static void writeFixed(long address, int trafficClass, int flowLabel, int payloadLengthBytes,
                                  int nextHeader, int hopLimit) {
        NetworkOrder.putInt(address, 0x6000_0000 | (trafficClass & 0xff) << 20 | (flowLabel & 0xf_ffff));
        NetworkOrder.putInt(address + 4, payloadLengthBytes << 16 | (nextHeader & 0xff) << 8 | (hopLimit & 0xff));
    }

    public static void setSource(long address, long high, long low) {
        NetworkOrder.putLong(address + 8, high);
        NetworkOrder.putLong(address + 16, low);
    }

    public static void setDestination(long address, long high, long low) {
        NetworkOrder.putLong(address + 24, high);
        NetworkOrder.putLong(address + 32, low);
    }

    /** Returns whether an address, given its upper half, is a multicast group. */
    public static boolean isMulticast(long high) {
        return high >>> 56 == 0xff;
    }

    /** Writes a fragment header. The offset is in bytes and must be a multiple of 8. */
    public static void writeFragment(long address, int nextHeader, int offsetBytes, boolean more, int identification) {
        NetworkOrder.putInt(address, (nextHeader & 0xff) << 24 | (offsetBytes & 0xfff8) | (more ? 1 : 0));
        NetworkOrder.putInt(address + 4, identification);
    }
}
