package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/** Writes headers that the product does not write, for frames of peers. */
public final class HeaderWriter {
    private HeaderWriter() {
    }

    /** Writes a TCP header with a checksum and an urgent pointer of 0. */
    public static void tcp(long address, int sourcePort, int destinationPort, int sequence, int acknowledgment,
            int headerLengthBytes, int flags, int window) {
        NetworkOrder.putInt(address, sourcePort << 16 | destinationPort & 0xffff);
        NetworkOrder.putInt(address + 4, sequence);
        NetworkOrder.putInt(address + 8, acknowledgment);
        NetworkOrder.putInt(address + 12, headerLengthBytes >>> 2 << 28 | (flags & 0xff) << 16 | window & 0xffff);
        NetworkOrder.putInt(address + 16, 0);
    }

    /** Computes and writes the checksum of a TCP segment, which includes the pseudo-header. */
    public static void tcpChecksum(long address, int lengthBytes, long pseudoHeaderSum) {
        NetworkOrder.putU16(address + 16,
                InternetChecksum.finish(InternetChecksum.sum(address, lengthBytes, pseudoHeaderSum)));
    }

    /** Writes a VLAN tag and the EtherType that follows it: six bytes. */
    public static void vlanTag(long address, int tagEtherType, int tci, int innerEtherType) {
        NetworkOrder.putU16(address, tagEtherType);
        NetworkOrder.putU16(address + 2, tci);
        NetworkOrder.putU16(address + 4, innerEtherType);
    }
}
