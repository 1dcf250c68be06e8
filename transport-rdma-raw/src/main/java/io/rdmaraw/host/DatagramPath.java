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
 * The path from a channel to one destination: the values that the headers of all datagrams to it have in common.
 * Immutable. Valid while the generation of the network is unchanged.
 *
 * @param generation generation of the network when the path was found
 * @param destination the destination as specified by the user
 * @param nextHopOrNull the next hop; null if it need not be kept reachable
 * @param mtuBytes maximum length of an IP packet; Integer.MAX_VALUE if it is not limited
 * @param flowLabel IPv6 flow label, the same for all datagrams between two ports
 * @param identificationCounter selects the counter of {@link PacketIdentifications}
 * @param pseudoHeaderSum checksum over the addresses of the pseudo header, without protocol and length
 */
public record DatagramPath(Kind kind, long generation, InetSocketAddress destination, IpAddress source, int sourcePort,
        IpAddress target, int targetPort, long sourceMac, long targetMac, NextHop nextHopOrNull, int mtuBytes,
        int flowLabel, int identificationCounter, long pseudoHeaderSum) {
    /** The way in which datagrams reach the destination. */
    public enum Kind {
        /** Sent by the device. */
        DEVICE,
        /** Sent by the kernel socket of the same port. */
        KERNEL,
        /** Sent by the device as soon as the MAC address of the next hop is known. */
        UNRESOLVED,
        /** Delivered to a port of the same userspace host by {@link DatagramNetwork#deliverLocally}. */
        SELF,
        /** No socket is bound to the destination port. */
        PORT_UNREACHABLE
    }

    private static final FlowLabels FLOW_LABELS = flowLabels(new SecureRandom());

    private static FlowLabels flowLabels(SecureRandom random) {
        return new FlowLabels(new SipHash(random.nextLong(), random.nextLong()));
    }

    /** Creates the path to a destination through a next hop. */
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

    /** Creates the path to a destination on the device's link, or to one that needs no next hop. */
    public static DatagramPath direct(Kind kind, long generation, InetSocketAddress destination, IpAddress source,
            int sourcePort, IpAddress target, long sourceMac, long targetMac) {
        return byHop(kind, generation, destination, source, sourcePort, target, sourceMac, targetMac, null,
                Integer.MAX_VALUE);
    }

    /** Returns this path with the resolved MAC address. */
    public DatagramPath resolved(long mac) {
        return with(Kind.DEVICE, mac, mtuBytes);
    }

    /** Returns this path with a limit for the packet length. */
    DatagramPath limitedTo(int packetBytes) {
        return packetBytes >= mtuBytes ? this : with(kind, targetMac, packetBytes);
    }

    private DatagramPath with(Kind newKind, long newTargetMac, int newMtuBytes) {
        return new DatagramPath(newKind, generation, destination, source, sourcePort, target, targetPort, sourceMac,
                newTargetMac, nextHopOrNull, newMtuBytes, flowLabel, identificationCounter, pseudoHeaderSum);
    }

    /**
     * Returns whether packets carry "don't fragment". They do on a path without a next hop (to a group, a broadcast
     * address or within the host), because it leads through no router.
     */
    public boolean isDontFragment() {
        return nextHopOrNull == null;
    }

    /** Records that a datagram uses the next hop, so that it is kept reachable. */
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
