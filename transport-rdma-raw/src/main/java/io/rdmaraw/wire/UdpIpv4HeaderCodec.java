package io.rdmaraw.wire;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;

/**
 * The headers of the most common datagram: untagged Ethernet, IPv4 without options or fragmentation, and UDP.
 * They are read and written as a few words through an array. Deep in the call stack of an event loop, the JIT
 * compiler no longer inlines single accesses to native memory. Not thread-safe.
 */
public final class UdpIpv4HeaderCodec {
    /** Total length of the three headers. */
    public static final int LENGTH_BYTES = EthernetHeader.LENGTH_BYTES + Ipv4Header.MIN_LENGTH_BYTES
            + UdpHeader.LENGTH_BYTES;
    /** Number of bytes that are read even if a frame is shorter. They must be mapped. */
    public static final int READ_BYTES = 48;
    private static final int IP_LENGTH_BYTES = Ipv4Header.MIN_LENGTH_BYTES;
    private static final long GROUP_SOURCE = 1 << 8;
    /** EtherType, version and header length: the last four bytes of the second word, except the type of service. */
    private static final long TYPE_AND_VERSION_MASK = 0xffff_ff00L;
    private static final long TYPE_AND_VERSION = 0x0800_4500L;
    private static final long FRAGMENT_MASK =
            (long) (Ipv4Header.MORE_FRAGMENTS | Ipv4Header.FRAGMENT_OFFSET_MASK) << 16;
    private static final long MAPPED_PREFIX = 0xffff_0000_0000L;
    /** Number of words written. The UDP checksum follows them. */
    private static final int WRITTEN_WORDS = 5;

    private final long[] words = new long[READ_BYTES / Long.BYTES];
    private int source;
    private int destination;
    private int ports;
    private int payloadLengthBytes;

    /**
     * Reads the headers of a frame with verified checksums.
     *
     * @return false if the frame has another format or is invalid; {@link FrameParser#parse} determines which
     */
    boolean read(long address, int lengthBytes) {
        if (lengthBytes < LENGTH_BYTES) {
            return false;
        }
        NativeMemory.getLongs(address, words);
        long sourceTypeAndVersion = NetworkOrder.swap64(words[1]);
        long lengthToProtocol = NetworkOrder.swap64(words[2]);
        if ((NetworkOrder.swap64(words[0]) & GROUP_SOURCE) != 0
                || (sourceTypeAndVersion & TYPE_AND_VERSION_MASK) != TYPE_AND_VERSION
                || (lengthToProtocol & FRAGMENT_MASK) != 0 || (lengthToProtocol & 0xff) != IpProtocol.UDP) {
            return false;
        }
        long addresses = NetworkOrder.swap64(words[3]);
        long portsAndLength = NetworkOrder.swap64(words[4]);
        int totalBytes = (int) (lengthToProtocol >>> 48);
        int udpBytes = (int) portsAndLength & 0xffff;
        source = (int) (addresses >>> 16);
        destination = (int) addresses << 16 | (int) (portsAndLength >>> 48);
        ports = (int) (portsAndLength >>> 16);
        payloadLengthBytes = udpBytes - UdpHeader.LENGTH_BYTES;
        return totalBytes <= lengthBytes - EthernetHeader.LENGTH_BYTES && udpBytes >= UdpHeader.LENGTH_BYTES
                && udpBytes <= totalBytes - IP_LENGTH_BYTES && !Ipv4Header.isMulticast(source) && source != -1;
    }

    /** Returns whether a packet on a link may not have one of the addresses, see {@link Martians#isMartianIpv4}. */
    boolean isMartian(boolean withinHost) {
        return Martians.isMartianIpv4(source, destination, IpProtocol.UDP, withinHost);
    }

    /**
     * Returns the lower half of the source address in mapped form; the upper half is 0 (RFC 4291 section
     * 2.5.5.2).
     */
    public long sourceLow() {
        return MAPPED_PREFIX | source & 0xffff_ffffL;
    }

    /** Returns the lower half of the destination address; see {@link #sourceLow()}. */
    public long destinationLow() {
        return MAPPED_PREFIX | destination & 0xffff_ffffL;
    }

    public int sourcePort() {
        return ports >>> 16;
    }

    public int destinationPort() {
        return ports & 0xffff;
    }

    /** Returns the length of the payload, which starts at {@link #LENGTH_BYTES}. */
    public int payloadLengthBytes() {
        return payloadLengthBytes;
    }

    /**
     * Writes the headers of a complete datagram, with the IPv4 checksum and a UDP checksum of 0.
     *
     * @param payloadBytes   length of the datagram
     * @param flagsAndOffset flags of IPv4: {@link Ipv4Header#DONT_FRAGMENT} or 0
     */
    public void write(long address, long destinationMac, long sourceMac, int typeOfService, int payloadBytes,
                      int identification, int flagsAndOffset, int timeToLive, int sourceAddress, int destinationAddress,
                      int sourcePort, int destinationPort) {
        int udpBytes = UdpHeader.LENGTH_BYTES + payloadBytes;
        int totalBytes = IP_LENGTH_BYTES + udpBytes;
        int versionToService = 0x4500 | typeOfService & 0xff;
        int timeAndProtocol = (timeToLive & 0xff) << 8 | IpProtocol.UDP;
        int sum = versionToService + totalBytes + (identification & 0xffff) + flagsAndOffset + timeAndProtocol
                + (sourceAddress >>> 16) + (sourceAddress & 0xffff)
                + (destinationAddress >>> 16) + (destinationAddress & 0xffff);
        sum = (sum & 0xffff) + (sum >>> 16);
        int checksum = ~(sum + (sum >>> 16)) & 0xffff;
        words[0] = NetworkOrder.swap64(destinationMac << 16 | sourceMac >>> 32);
        words[1] = NetworkOrder.swap64(sourceMac << 32 | EtherType.IPV4 << 16 | versionToService);
        words[2] = NetworkOrder.swap64((long) totalBytes << 48 | (identification & 0xffffL) << 32
                | (long) flagsAndOffset << 16 | timeAndProtocol);
        words[3] = NetworkOrder.swap64((long) checksum << 48 | (sourceAddress & 0xffff_ffffL) << 16
                | destinationAddress >>> 16);
        words[4] = NetworkOrder.swap64((long) destinationAddress << 48 | (long) sourcePort << 32
                | (long) destinationPort << 16 | udpBytes);
        NativeMemory.putLongs(address, words, WRITTEN_WORDS);
        NativeMemory.putShort(address + WRITTEN_WORDS * Long.BYTES, (short) 0);
    }
}
