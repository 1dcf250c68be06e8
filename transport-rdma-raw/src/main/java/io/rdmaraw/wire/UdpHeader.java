package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/** The UDP header (RFC 768). */
public final class UdpHeader {
    public static final int LENGTH_BYTES = 8;

    private UdpHeader() {
    }

    /** Returns the length of header and payload. */
    public static int lengthBytes(long address) {
        return NetworkOrder.getU16(address + 4);
    }

    /** Returns the checksum. The value 0 means that the sender computed none, which is valid only for IPv4. */
    public static int checksum(long address) {
        return NetworkOrder.getU16(address + 6);
    }

    /** Writes the header with a checksum of 0. {@code lengthBytes} includes header and payload. */
    public static void write(long address, int sourcePort, int destinationPort, int lengthBytes) {
        NetworkOrder.putInt(address, sourcePort << 16 | (destinationPort & 0xffff));
        NetworkOrder.putInt(address + 4, lengthBytes << 16);
    }

    /** Writes the checksum. A computed 0 is sent as all ones, because 0 means "no checksum" (RFC 768). */
    public static void setChecksum(long address, int checksum) {
        NetworkOrder.putU16(address + 6, checksum == 0 ? 0xffff : checksum);
    }
}
