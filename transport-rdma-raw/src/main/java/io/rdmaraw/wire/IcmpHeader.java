package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/** ICMP (RFC 792) and, with the same first eight bytes, ICMPv6 (RFC 4443). */
public final class IcmpHeader {
    /** Length of type, code, checksum and the type-specific word. */
    public static final int LENGTH_BYTES = 8;
    /** ICMP type: echo reply. */
    public static final int ECHO_REPLY = 0;
    /** ICMP type: destination unreachable. */
    public static final int UNREACHABLE = 3;
    /** ICMP type: echo request. */
    public static final int ECHO_REQUEST = 8;
    /** ICMP type: time exceeded. */
    public static final int TIME_EXCEEDED = 11;
    /** ICMP type: parameter problem. */
    public static final int PARAMETER_PROBLEM = 12;
    /** Code of {@link #UNREACHABLE}: protocol unreachable. */
    public static final int CODE_PROTOCOL_UNREACHABLE = 2;
    /** Code of {@link #UNREACHABLE}: port unreachable. */
    public static final int CODE_PORT_UNREACHABLE = 3;
    /** Code of {@link #UNREACHABLE}: fragmentation needed and DF set; carries the MTU (RFC 1191). */
    public static final int CODE_FRAGMENTATION_NEEDED = 4;
    /** ICMPv6 type: destination unreachable. */
    public static final int V6_UNREACHABLE = 1;
    /** ICMPv6 type: packet too big; carries the MTU (RFC 8201). */
    public static final int V6_PACKET_TOO_BIG = 2;
    /** ICMPv6 type: time exceeded. */
    public static final int V6_TIME_EXCEEDED = 3;
    /** ICMPv6 type: parameter problem. */
    public static final int V6_PARAMETER_PROBLEM = 4;
    /** ICMPv6 type: echo request. */
    public static final int V6_ECHO_REQUEST = 128;
    /** ICMPv6 type: echo reply. */
    public static final int V6_ECHO_REPLY = 129;
    /** ICMPv6 code of {@link #V6_UNREACHABLE}: port unreachable. */
    public static final int V6_CODE_PORT_UNREACHABLE = 4;

    private IcmpHeader() {
    }

    public static int type(long address) {
        return NetworkOrder.getU8(address);
    }

    public static int code(long address) {
        return NetworkOrder.getU8(address + 1);
    }

    public static int checksum(long address) {
        return NetworkOrder.getU16(address + 2);
    }

    /** Returns the next-hop MTU of an ICMP "fragmentation needed"; 0 from routers before RFC 1191. */
    public static int nextHopMtu(long address) {
        return NetworkOrder.getU16(address + 6);
    }

    /** Returns the MTU of an ICMPv6 "packet too big" as an unsigned 32-bit value. */
    public static long packetTooBigMtu(long address) {
        return NetworkOrder.getInt(address + 4) & 0xffff_ffffL;
    }

    /** Returns whether the ICMP type is an error that quotes the packet that caused it. */
    public static boolean isError(int type) {
        return type == UNREACHABLE || type == TIME_EXCEEDED || type == PARAMETER_PROBLEM;
    }

    /** Returns whether the ICMPv6 type is an error (RFC 4443 section 2.1: the high bit is clear). */
    public static boolean isErrorV6(int type) {
        return type < 128;
    }

    /** Writes type, code and the type-specific word, with a checksum of 0. */
    public static void write(long address, int type, int code, int word) {
        NetworkOrder.putInt(address, type << 24 | (code & 0xff) << 16);
        NetworkOrder.putInt(address + 4, word);
    }

    /** Computes and writes the ICMP checksum over {@code lengthBytes} starting at the header. */
    public static void updateChecksum(long address, int lengthBytes) {
        updateChecksum(address, lengthBytes, 0);
    }

    /** Computes and writes the ICMPv6 checksum, which includes the pseudo-header (RFC 4443 section 2.3). */
    public static void updateChecksum(long address, int lengthBytes, long pseudoHeaderSum) {
        NetworkOrder.putU16(address + 2, 0);
        long sum = InternetChecksum.sum(address, lengthBytes, pseudoHeaderSum);
        NetworkOrder.putU16(address + 2, InternetChecksum.finish(sum));
    }

    /** Converts a verified echo request into its reply in place, with an incremental update of the checksum. */
    public static void convertToReply(long address, int replyType) {
        int oldWord = NetworkOrder.getU16(address);
        int newWord = replyType << 8 | (oldWord & 0xff);
        NetworkOrder.putU16(address, newWord);
        int updated = InternetChecksum.update(checksum(address), oldWord, newWord);
        // The correct checksum of a reply of only zeros is 0xffff, but the update yields 0, the other zero of
        // one's complement (RFC 1624 section 3). For all other replies the two values are equivalent.
        NetworkOrder.putU16(address + 2, updated == 0 ? 0xffff : updated);
    }
}
