package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PacketIdentifications;
import io.rdmaraw.wire.FlowLabels;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.SipHash;

import java.net.InetSocketAddress;
import java.security.SecureRandom;

/**
 * The path from a channel to one destination: what the headers of every datagram to it have in common. Immutable; valid
 * as long as the network's generation is the same.
 *
 * @param generation of the network when the path was found
 * @param destination as the user gave it
 * @param nextHopOrNull the next hop, null when there is none to be kept fresh
 * @param mtuBytes the longest IP packet, where that is less than the link's
 * @param flowLabel of IPv6, the same for all datagrams between two ports
 * @param identificationCounter chooses the counter of {@link PacketIdentifications}
 * @param pseudoHeaderSum the checksum's sum over the addresses; protocol and length are still to be added
 */
public record DatagramPath(Kind kind, long generation, InetSocketAddress destination, IpAddress source, int sourcePort,
        IpAddress target, int targetPort, long sourceMac, long targetMac, NextHop nextHopOrNull, int mtuBytes,
        int flowLabel, int identificationCounter, long pseudoHeaderSum) {
    /** How datagrams get there. */
    public enum Kind {
        /** By the device. */
        DEVICE,
        /** By the kernel's socket of the same port. */
        KERNEL,
        /** By the device, once the next hop's MAC address is known. */
        UNRESOLVED,
        /** To a port of the same userspace host, by its {@link DatagramNetwork#handOver}. */
        SELF,
        /** The port is free. */
        PORT_UNREACHABLE
    }

    private static final FlowLabels FLOW_LABELS = flowLabels(new SecureRandom());

    private static FlowLabels flowLabels(SecureRandom random) {
        return new FlowLabels(new SipHash(random.nextLong(), random.nextLong()));
    }

    /** Makes the path to a destination by a next hop. */
    static DatagramPath byHop(Kind kind, long generation, InetSocketAddress destination, IpAddress source,
            int sourcePort, IpAddress target, long sourceMac, long targetMac, NextHop nextHopOrNull, int mtuBytes) {
        int targetPort = destination.getPort();
        int label = target.isIpv4() ? 0 : FLOW_LABELS.of(source.high(), source.low(), sourcePort, target.high(),
                target.low(), targetPort, 0);
        long sum = target.isIpv4() ? InternetChecksum.pseudoHeaderIpv4(source.ipv4(), target.ipv4(), 0, 0)
                : InternetChecksum.pseudoHeaderIpv6(source.high(), source.low(), target.high(), target.low(), 0, 0);
        return new DatagramPath(kind, generation, destination, source, sourcePort, target, targetPort, sourceMac,
                targetMac, nextHopOrNull, mtuBytes, label,
                PacketIdentifications.SHARED.counterOf(source, target, IpProtocol.UDP), sum);
    }

    /** Makes the path to a destination that is on the device's link itself, or that needs no next hop. */
    public static DatagramPath direct(Kind kind, long generation, InetSocketAddress destination, IpAddress source,
            int sourcePort, IpAddress target, long sourceMac, long targetMac) {
        return byHop(kind, generation, destination, source, sourcePort, target, sourceMac, targetMac, null,
                Integer.MAX_VALUE);
    }

    /** Returns the same path with the MAC address that has become known. */
    public DatagramPath resolved(long mac) {
        return with(Kind.DEVICE, mac, mtuBytes);
    }

    /** Returns the same path for packets that are not longer. */
    DatagramPath limitedTo(int packetBytes) {
        return packetBytes >= mtuBytes ? this : with(kind, targetMac, packetBytes);
    }

    private DatagramPath with(Kind newKind, long newTargetMac, int newMtuBytes) {
        return new DatagramPath(newKind, generation, destination, source, sourcePort, target, targetPort, sourceMac,
                newTargetMac, nextHopOrNull, newMtuBytes, flowLabel, identificationCounter, pseudoHeaderSum);
    }

    /** Tells whether routers may not fragment the packet: on the device's own link there is no router. */
    public boolean isDontFragment() {
        return nextHopOrNull == null;
    }

    /** Keeps the next hop fresh: a datagram goes this way. */
    public void touch() {
        if (nextHopOrNull != null) {
            nextHopOrNull.touch();
        }
    }

    public boolean isIpv4() {
        return target.isIpv4();
    }

    public boolean isMulticast() {
        return target.isMulticast();
    }

    /** Returns the identification of the next datagram that may be fragmented: 16 bits for IPv4, 32 for IPv6. */
    public int nextIdentification() {
        return isIpv4() ? PacketIdentifications.SHARED.nextIpv4(identificationCounter)
                : PacketIdentifications.SHARED.nextIpv6(identificationCounter);
    }
}
