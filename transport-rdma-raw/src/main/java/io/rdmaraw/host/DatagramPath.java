package io.rdmaraw.host;

import io.rdmaraw.route.IpAddress;
import io.rdmaraw.route.PacketIdentifications;
import io.rdmaraw.wire.FlowLabels;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.SipHash;

import java.net.InetSocketAddress;
import java.security.SecureRandom;

/**
 * The way from a channel to one destination: what the headers of every datagram to it have in common. Immutable; worth
 * something as long as the network's generation is the same.
 */
public final class DatagramPath {
    /** How datagrams get there. */
    public enum Kind {
        /** By the device. */
        DEVICE,
        /** By the kernel's socket of the same port. */
        KERNEL,
        /** By the device, once the next hop's MAC address is known. */
        UNRESOLVED,
        /** To a port of the same host of our own, by its {@link DatagramNetwork#handOver}. */
        SELF,
        /** Nobody has the port. */
        PORT_UNREACHABLE
    }

    private static final FlowLabels FLOW_LABELS = flowLabels(new SecureRandom());

    private final Kind kind;
    private final long generation;
    private final InetSocketAddress destination;
    private final IpAddress source;
    private final IpAddress target;
    private final int sourcePort;
    private final int targetPort;
    private final long sourceMac;
    private final long targetMac;
    private final long pseudoHeaderSum;
    private final NextHop nextHop;
    private final int flowLabel;
    private final int identificationCounter;
    /** The longest IP packet, where that is less than the link's. */
    private int mtuBytes = Integer.MAX_VALUE;

    DatagramPath(Kind kind, long generation, InetSocketAddress destination, IpAddress source, int sourcePort,
                 IpAddress target, int targetPort, long sourceMac, long targetMac, NextHop nextHop) {
        this.nextHop = nextHop;
        this.kind = kind;
        this.generation = generation;
        this.destination = destination;
        this.source = source;
        this.target = target;
        this.sourcePort = sourcePort;
        this.targetPort = targetPort;
        this.sourceMac = sourceMac;
        this.targetMac = targetMac;
        flowLabel = target.isIpv4() ? 0 : FLOW_LABELS.of(source.high(), source.low(), sourcePort, target.high(),
                target.low(), targetPort, 0);
        identificationCounter = PacketIdentifications.SHARED.counterOf(source, target, IpProtocol.UDP);
        pseudoHeaderSum = target.isIpv4()
                ? InternetChecksum.pseudoHeaderIpv4(source.ipv4(), target.ipv4(), 0, 0)
                : InternetChecksum.pseudoHeaderIpv6(source.high(), source.low(), target.high(), target.low(), 0, 0);
    }

    private static FlowLabels flowLabels(SecureRandom random) {
        return new FlowLabels(new SipHash(random.nextLong(), random.nextLong()));
    }

    /** Makes the path of a destination whose next hop is on the device, or that needs none. */
    static DatagramPath direct(Kind kind, long generation, InetSocketAddress destination, IpAddress source,
                               int sourcePort, IpAddress target, long sourceMac, long targetMac) {
        return new DatagramPath(kind, generation, destination, source, sourcePort, target, destination.getPort(),
                sourceMac, targetMac, null);
    }

    /** Returns the same way with the MAC address that has become known. */
    public DatagramPath resolved(long mac) {
        return new DatagramPath(Kind.DEVICE, generation, destination, source, sourcePort, target, targetPort,
                sourceMac, mac, nextHop).limitedTo(mtuBytes);
    }

    /** Says that no packet on the path may be longer; to be called before the path is used. */
    DatagramPath limitedTo(int packetBytes) {
        mtuBytes = Math.min(mtuBytes, packetBytes);
        return this;
    }

    public int mtuBytes() {
        return mtuBytes;
    }

    /** Returns the next hop, or null when there is none to be kept fresh. */
    public NextHop nextHopOrNull() {
        return nextHop;
    }

    /** Tells whether a router may not cut the packet up: on a link of our own there is none to do so. */
    public boolean isDontFragment() {
        return nextHop == null;
    }

    /** A datagram goes this way. */
    public void touch() {
        if (nextHop != null && nextHop.use() != null) {
            nextHop.use().touch();
        }
    }

    public Kind kind() {
        return kind;
    }

    long generation() {
        return generation;
    }

    public InetSocketAddress destination() {
        return destination;
    }

    public boolean isIpv4() {
        return target.isIpv4();
    }

    public boolean isMulticast() {
        return target.isMulticast();
    }

    /** Returns the flow label of IPv6, the same for all datagrams between two ports. */
    public int flowLabel() {
        return flowLabel;
    }

    /** Returns the identification of the next datagram that may be cut up: 16 bits for IPv4, 32 for IPv6. */
    public int nextIdentification() {
        return isIpv4() ? PacketIdentifications.SHARED.nextIpv4(identificationCounter)
                : PacketIdentifications.SHARED.nextIpv6(identificationCounter);
    }

    public IpAddress source() {
        return source;
    }

    public IpAddress target() {
        return target;
    }

    public int sourcePort() {
        return sourcePort;
    }

    public int targetPort() {
        return targetPort;
    }

    public long sourceMac() {
        return sourceMac;
    }

    public long targetMac() {
        return targetMac;
    }

    /** Returns the checksum's sum over the addresses; protocol and length are still to be added. */
    public long pseudoHeaderSum() {
        return pseudoHeaderSum;
    }
}
