package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/** The TCP header without its options (RFC 9293 section 3.1). */
public final class TcpHeader {
    /** Length without options. */
    public static final int MIN_LENGTH_BYTES = 20;

    private TcpHeader() {
    }

    public static int sequence(long address) {
        return NetworkOrder.getInt(address + 4);
    }

    /** Returns the length of the header including options. */
    public static int headerLengthBytes(long address) {
        return NetworkOrder.getU8(address + 12) >>> 4 << 2;
    }

    public static int checksum(long address) {
        return NetworkOrder.getU16(address + 16);
    }

    public static int urgentPointer(long address) {
        return NetworkOrder.getU16(address + 18);
    }
}
