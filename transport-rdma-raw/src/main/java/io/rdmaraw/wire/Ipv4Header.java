package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/** The IPv4 header (RFC 791). */
public final class Ipv4Header {
    /** Length without options. */
    public static final int MIN_LENGTH_BYTES = 20;
    /** Maximum length including options. */
    public static final int MAX_LENGTH_BYTES = 60;
    /** Don't-fragment bit of the flags-and-offset field. */
    public static final int DONT_FRAGMENT = 0x4000;
    /** More-fragments bit of the flags-and-offset field. */
    public static final int MORE_FRAGMENTS = 0x2000;
    /** Mask of the fragment offset, in units of 8 bytes. */
    public static final int FRAGMENT_OFFSET_MASK = 0x1fff;
    /** Option: end of list. */
    public static final int OPTION_END = 0;
    /** Option: no operation. */
    public static final int OPTION_NOP = 1;
    /** Option: loose source route. */
    public static final int OPTION_LOOSE_SOURCE_ROUTE = 131;
    /** Option: strict source route. */
    public static final int OPTION_STRICT_SOURCE_ROUTE = 137;

    private Ipv4Header() {
    }

    public static int version(long address) {
        return NetworkOrder.getU8(address) >>> 4;
    }

    /** Returns the header length including options. */
    public static int headerLengthBytes(long address) {
        return (NetworkOrder.getU8(address) & 0xf) << 2;
    }

    /** Returns the length of header and payload. */
    public static int totalLengthBytes(long address) {
        return NetworkOrder.getU16(address + 2);
    }

    /** Returns the flags-and-offset field. */
    public static int flagsAndOffset(long address) {
        return NetworkOrder.getU16(address + 6);
    }

    public static int checksum(long address) {
        return NetworkOrder.getU16(address + 10);
    }

    public static int source(long address) {
        return NetworkOrder.getInt(address + 12);
    }

    public static int destination(long address) {
        return NetworkOrder.getInt(address + 16);
    }

    /** Writes a header without options, including its checksum. */
    public static void write(long address, int typeOfService, int totalLengthBytes, int identification,
                             int flagsAndOffset, int timeToLive, int protocol, int source, int destination) {
        NetworkOrder.putInt(address, 0x4500_0000 | (typeOfService & 0xff) << 16 | (totalLengthBytes & 0xffff));
        NetworkOrder.putInt(address + 4, identification << 16 | (flagsAndOffset & 0xffff));
        NetworkOrder.putInt(address + 8, timeToLive << 24 | (protocol & 0xff) << 16);
        NetworkOrder.putInt(address + 12, source);
        NetworkOrder.putInt(address + 16, destination);
        updateChecksum(address, MIN_LENGTH_BYTES);
    }

    /** Computes and writes the header checksum over {@code headerLengthBytes}. */
    public static void updateChecksum(long address, int headerLengthBytes) {
        NetworkOrder.putU16(address + 10, 0);
        NetworkOrder.putU16(address + 10, InternetChecksum.finish(InternetChecksum.sum(address, headerLengthBytes)));
    }

    /** Returns whether an address is a multicast group. */
    public static boolean isMulticast(int address) {
        return address >>> 28 == 0xe;
    }
}
