package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/** The TCP header without its options (RFC 9293 section 3.1). */
public final class TcpHeader {
    /** Length without options. */
    public static final int MINIMUM_LENGTH_BYTES = 20;
    /** Length with as many options as there can be. */
    public static final int MAXIMUM_LENGTH_BYTES = 60;
    /** No more data from the sender. */
    public static final int FIN = 0x01;
    /** Synchronize sequence numbers. */
    public static final int SYN = 0x02;
    /** Reset the connection. */
    public static final int RST = 0x04;
    /** Push. */
    public static final int PSH = 0x08;
    /** The acknowledgment number is valid. */
    public static final int ACK = 0x10;
    /** The urgent pointer is valid. */
    public static final int URG = 0x20;
    /** ECN echo (RFC 3168). */
    public static final int ECE = 0x40;
    /** Congestion window reduced (RFC 3168). */
    public static final int CWR = 0x80;

    private TcpHeader() {
    }

    /** Returns the source port. */
    public static int sourcePort(long address) {
        return NetworkOrder.getU16(address);
    }

    /** Returns the destination port. */
    public static int destinationPort(long address) {
        return NetworkOrder.getU16(address + 2);
    }

    /** Returns the sequence number. */
    public static int sequence(long address) {
        return NetworkOrder.getInt(address + 4);
    }

    /** Returns the acknowledgment number. */
    public static int acknowledgment(long address) {
        return NetworkOrder.getInt(address + 8);
    }

    /** Returns the length of header and options. */
    public static int headerLengthBytes(long address) {
        return NetworkOrder.getU8(address + 12) >>> 4 << 2;
    }

    /** Returns the eight control bits. */
    public static int flags(long address) {
        return NetworkOrder.getU8(address + 13);
    }

    /** Returns the window as it stands, unscaled. */
    public static int window(long address) {
        return NetworkOrder.getU16(address + 14);
    }

    /** Returns the checksum. */
    public static int checksum(long address) {
        return NetworkOrder.getU16(address + 16);
    }

    /** Returns the urgent pointer. */
    public static int urgentPointer(long address) {
        return NetworkOrder.getU16(address + 18);
    }

    /** Writes the header with a checksum and an urgent pointer of 0. */
    public static void write(long address, int sourcePort, int destinationPort, int sequence, int acknowledgment,
                             int headerLengthBytes, int flags, int window) {
        NetworkOrder.putInt(address, sourcePort << 16 | (destinationPort & 0xffff));
        NetworkOrder.putInt(address + 4, sequence);
        NetworkOrder.putInt(address + 8, acknowledgment);
        NetworkOrder.putInt(address + 12,
                headerLengthBytes >>> 2 << 28 | (flags & 0xff) << 16 | (window & 0xffff));
        NetworkOrder.putInt(address + 16, 0);
    }

    /** Writes the checksum. */
    public static void setChecksum(long address, int checksum) {
        NetworkOrder.putU16(address + 16, checksum);
    }
}
