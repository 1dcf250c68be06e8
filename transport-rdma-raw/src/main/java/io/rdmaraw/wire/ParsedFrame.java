package io.rdmaraw.wire;

/**
 * The parts of a frame located by {@link FrameParser}. An object is reused for many frames. It refers to the
 * frame's memory and is valid as long as that memory.
 *
 * <p>Offsets are relative to {@link #frameAddress()}. Fields that the verdict does not cover are 0: an ARP packet
 * has no ports, and a fragment has neither ports nor a transport header. After a verdict that is not accepted,
 * only the link-layer accessors may be used, and only if the verdict does not concern Ethernet or VLAN. The
 * frames of {@link Ipv6ParameterProblems} also have their addresses.
 */
public final class ParsedFrame {
    long frameAddress;
    int frameLengthBytes;
    int etherType;
    int vlanTagCount;
    int outerTci;
    int innerTci;
    int networkOffset;
    int networkHeaderLengthBytes;
    int packetLengthBytes;
    int ipVersion;
    int protocol;
    int trafficClass;
    int hopLimit;
    boolean dontFragment;
    boolean moreFragments;
    int fragmentOffsetBytes;
    int fragmentIdentification;
    int transportOffset;
    int transportHeaderLengthBytes;
    int payloadOffset;
    int payloadLengthBytes;
    int sourcePort;
    int destinationPort;

    void reset(long address, int lengthBytes) {
        frameAddress = address;
        frameLengthBytes = lengthBytes;
        etherType = 0;
        vlanTagCount = 0;
        outerTci = 0;
        innerTci = 0;
        networkOffset = 0;
        networkHeaderLengthBytes = 0;
        packetLengthBytes = 0;
        ipVersion = 0;
        protocol = 0;
        trafficClass = 0;
        hopLimit = 0;
        dontFragment = false;
        moreFragments = false;
        fragmentOffsetBytes = 0;
        fragmentIdentification = 0;
        transportOffset = 0;
        transportHeaderLengthBytes = 0;
        payloadOffset = 0;
        payloadLengthBytes = 0;
        sourcePort = 0;
        destinationPort = 0;
    }

    /** Returns the absolute address of the frame's first byte. */
    public long frameAddress() {
        return frameAddress;
    }

    /** Returns the absolute address of the network header. */
    public long networkHeaderAddress() {
        return frameAddress + networkOffset;
    }

    /** Returns the length of the IP packet: headers and payload, without padding of the frame. */
    public int packetLengthBytes() {
        return packetLengthBytes;
    }

    /** Returns 4 or 6, or 0 if the frame is not IP. */
    public int ipVersion() {
        return ipVersion;
    }

    /** Returns the protocol after all IP headers. */
    public int protocol() {
        return protocol;
    }

    /** Returns the IPv4 type of service or IPv6 traffic class. */
    public int trafficClass() {
        return trafficClass;
    }

    /** Returns the ECN field: 0 not capable, 1 and 2 capable, 3 congestion experienced (RFC 3168). */
    public int ecn() {
        return trafficClass & 3;
    }

    /** Returns the IPv4 time to live or IPv6 hop limit. */
    public int hopLimit() {
        return hopLimit;
    }

    /** Returns whether more fragments follow. */
    public boolean hasMoreFragments() {
        return moreFragments;
    }

    /** Returns the offset of a fragment's payload in the datagram. */
    public int fragmentOffsetBytes() {
        return fragmentOffsetBytes;
    }

    /** Returns the identification that the fragments of a datagram share. */
    public int fragmentIdentification() {
        return fragmentIdentification;
    }

    /** Returns the IPv4 source address. Only valid if {@link #ipVersion()} is 4. */
    public int sourceIpv4() {
        return Ipv4Header.source(networkHeaderAddress());
    }

    /** Returns the IPv4 destination address. Only valid if {@link #ipVersion()} is 4. */
    public int destinationIpv4() {
        return Ipv4Header.destination(networkHeaderAddress());
    }

    /**
     * Returns the upper half of the source address. IPv4 addresses are in mapped form (RFC 4291 section 2.5.5.2).
     */
    public long sourceHigh() {
        return ipVersion == 4 ? 0 : Ipv6Header.sourceHigh(networkHeaderAddress());
    }

    /** Returns the lower half of the source address; see {@link #sourceHigh()}. */
    public long sourceLow() {
        return ipVersion == 4 ? mapped(sourceIpv4()) : Ipv6Header.sourceLow(networkHeaderAddress());
    }

    /** Returns the upper half of the destination address; see {@link #sourceHigh()}. */
    public long destinationHigh() {
        return ipVersion == 4 ? 0 : Ipv6Header.destinationHigh(networkHeaderAddress());
    }

    /** Returns the lower half of the destination address; see {@link #sourceHigh()}. */
    public long destinationLow() {
        return ipVersion == 4 ? mapped(destinationIpv4()) : Ipv6Header.destinationLow(networkHeaderAddress());
    }

    private static long mapped(int ipv4) {
        return 0xffff_0000_0000L | ipv4 & 0xffff_ffffL;
    }

    /** Returns the offset of the transport header. */
    public int transportOffset() {
        return transportOffset;
    }

    /** Returns the absolute address of the transport header. */
    public long transportHeaderAddress() {
        return frameAddress + transportOffset;
    }

    /** Returns the length of the UDP, TCP (including options) or ICMP header. */
    public int transportHeaderLengthBytes() {
        return transportHeaderLengthBytes;
    }

    /**
     * Returns the offset of the payload: of the transport if it was parsed, otherwise of IP, otherwise of the
     * frame.
     */
    public int payloadOffset() {
        return payloadOffset;
    }

    /** Returns the absolute address of the payload. */
    public long payloadAddress() {
        return frameAddress + payloadOffset;
    }

    /** Returns the length of the payload without padding. */
    public int payloadLengthBytes() {
        return payloadLengthBytes;
    }

    public int sourcePort() {
        return sourcePort;
    }

    public int destinationPort() {
        return destinationPort;
    }
}
