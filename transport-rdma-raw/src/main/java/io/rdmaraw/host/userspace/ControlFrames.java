package io.rdmaraw.host.userspace;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Neighbor;
import io.rdmaraw.net.PacketIdentifications;
import io.rdmaraw.wire.ArpPacket;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.IcmpHeader;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;
import io.rdmaraw.wire.NeighborDiscovery;
import io.rdmaraw.wire.ParsedFrame;

/**
 * Creates and sends the control frames of a host: ARP, neighbour discovery and ICMP. If the output has no free frame,
 * the packet is not sent, as if the network had lost it.
 */
final class ControlFrames {
    private static final int HOP_LIMIT = 64;
    /** RFC 4861: a lower value means that a router has forwarded the packet. */
    private static final int ND_HOP_LIMIT = 255;
    /** Maximum length of an ICMP error (RFC 1812 section 4.3.2.3, RFC 4443 section 2.4 (c)). */
    private static final int MAX_ERROR_BYTES_IPV4 = 576;
    private static final int MAX_ERROR_BYTES_IPV6 = 1280;
    /** Minimum MTU of IPv6 links (RFC 8200 section 5). */
    private static final int MIN_MTU_BYTES_IPV6 = 1280;
    private static final int FRAGMENT_UNIT_BYTES = 8;
    private static final IpAddress ALL_ROUTERS = new IpAddress(0xff02L << 48, 2);

    private final long mac;
    private final ControlOutput output;

    ControlFrames(long mac, ControlOutput output) {
        this.mac = mac;
        this.output = output;
    }

    /**
     * Sends an ARP packet.
     *
     * @param targetMac MAC address of the target; 0 in a request
     */
    void sendArp(int operation, long destinationMac, IpAddress sender, long targetMac, IpAddress target) {
        long frame = output.allocate();
        if (frame == 0) {
            return;
        }
        EthernetHeader.write(frame, destinationMac, mac, EtherType.ARP);
        ArpPacket.write(frame + EthernetHeader.LENGTH_BYTES, operation, mac, sender.ipv4(), targetMac, target.ipv4());
        output.send(EthernetHeader.LENGTH_BYTES + ArpPacket.LENGTH_BYTES);
    }

    /**
     * Sends a neighbour solicitation.
     *
     * @param source {@code ::} for duplicate address detection (RFC 4862 section 5.4.2)
     * @param knownMac MAC address to send to, or {@link Neighbor#NO_MAC} for multicast
     */
    void sendSolicitation(IpAddress source, IpAddress target, long knownMac) {
        boolean multicast = knownMac == Neighbor.NO_MAC;
        IpAddress destination = multicast ? target.solicitedNode() : target;
        long frame = output.allocate();
        if (frame == 0) {
            return;
        }
        long message = ipv6(frame, multicast ? EthernetHeader.multicastOfIpv6(destination.low()) : knownMac);
        int lengthBytes = NeighborDiscovery.write(message, NeighborDiscovery.NEIGHBOR_SOLICITATION, 0, target.high(),
                target.low(), NeighborDiscovery.OPTION_SOURCE_LINK_LAYER, mac);
        if (source.isAny()) {
            // RFC 4861 section 7.1.1: no link-layer option if the source is unspecified.
            lengthBytes = NeighborDiscovery.NEIGHBOR_FIXED_LENGTH_BYTES;
        }
        sendIcmpv6(frame, message, lengthBytes, source, destination, ND_HOP_LIMIT);
    }

    void sendAdvertisement(IpAddress target, IpAddress destination, long destinationMac, int flags) {
        long frame = output.allocate();
        if (frame == 0) {
            return;
        }
        long message = ipv6(frame, destinationMac);
        int lengthBytes = NeighborDiscovery.write(message, NeighborDiscovery.NEIGHBOR_ADVERTISEMENT, flags,
                target.high(), target.low(), NeighborDiscovery.OPTION_TARGET_LINK_LAYER, mac);
        sendIcmpv6(frame, message, lengthBytes, target, destination, ND_HOP_LIMIT);
    }

    void sendRouterSolicitation(IpAddress source) {
        long frame = output.allocate();
        if (frame == 0) {
            return;
        }
        long message = ipv6(frame, EthernetHeader.multicastOfIpv6(ALL_ROUTERS.low()));
        IcmpHeader.write(message, NeighborDiscovery.ROUTER_SOLICITATION, 0, 0);
        sendIcmpv6(frame, message, IcmpHeader.LENGTH_BYTES, source, ALL_ROUTERS, ND_HOP_LIMIT);
    }

    /**
     * Sends an echo reply. The memory of the request is overwritten.
     *
     * @param mtuBytes MTU of the link; longer replies are fragmented
     */
    void sendEchoReply(ParsedFrame request, IpAddress local, int mtuBytes) {
        boolean ipv4 = request.ipVersion() == 4;
        // The parser treats the ICMP header as the transport header and the rest as payload.
        int lengthBytes = request.payloadOffset() - request.transportOffset() + request.payloadLengthBytes();
        IpAddress peer = IpAddress.sourceOf(request);
        long peerMac = EthernetHeader.source(request.frameAddress());
        long reply = request.transportHeaderAddress();
        IcmpHeader.convertToReply(reply, ipv4 ? IcmpHeader.ECHO_REPLY : IcmpHeader.V6_ECHO_REPLY);
        if (lengthBytes + (ipv4 ? Ipv4Header.MIN_LENGTH_BYTES : Ipv6Header.LENGTH_BYTES) > mtuBytes) {
            sendFragments(reply, lengthBytes, local, peer, peerMac, mtuBytes);
            return;
        }
        long frame = output.allocate();
        if (frame == 0) {
            return;
        }
        long message = ipv4 ? ipv4(frame, peerMac) : ipv6(frame, peerMac);
        NativeMemory.copy(reply, message, lengthBytes);
        if (ipv4) {
            sendIpv4(frame, lengthBytes, local, peer);
        } else {
            sendIcmpv6(frame, message, lengthBytes, local, peer, HOP_LIMIT);
        }
    }

    /**
     * Sends a message in fragments. Routers may split IPv4 fragments further. IPv6 fragments have the minimum MTU,
     * which every path supports.
     */
    private void sendFragments(long message, int lengthBytes, IpAddress source, IpAddress destination,
                               long destinationMac, int mtuBytes) {
        boolean ipv4 = source.isIpv4();
        int headersBytes = ipv4 ? Ipv4Header.MIN_LENGTH_BYTES
                : Ipv6Header.LENGTH_BYTES + Ipv6Header.FRAGMENT_LENGTH_BYTES;
        PacketIdentifications identifications = PacketIdentifications.SHARED;
        int counter = identifications.counterOf(source, destination, ipv4 ? IpProtocol.ICMP : IpProtocol.ICMPV6);
        int identification = ipv4 ? identifications.nextIpv4(counter) : identifications.nextIpv6(counter);
        int fragmentBytes = ((ipv4 ? mtuBytes : MIN_MTU_BYTES_IPV6) - headersBytes) & -FRAGMENT_UNIT_BYTES;
        for (int offset = 0; offset < lengthBytes; offset += fragmentBytes) {
            int bytes = Math.min(fragmentBytes, lengthBytes - offset);
            boolean more = offset + bytes < lengthBytes;
            long frame = output.allocate();
            if (frame == 0) {
                return;
            }
            EthernetHeader.write(frame, destinationMac, mac, ipv4 ? EtherType.IPV4 : EtherType.IPV6);
            long ip = frame + EthernetHeader.LENGTH_BYTES;
            if (ipv4) {
                Ipv4Header.write(ip, 0, headersBytes + bytes, identification,
                        offset / FRAGMENT_UNIT_BYTES | (more ? Ipv4Header.MORE_FRAGMENTS : 0), HOP_LIMIT,
                        IpProtocol.ICMP, source.ipv4(), destination.ipv4());
            } else {
                Ipv6Header.writeFixed(ip, 0, 0, Ipv6Header.FRAGMENT_LENGTH_BYTES + bytes, IpProtocol.FRAGMENT,
                        HOP_LIMIT);
                Ipv6Header.setSource(ip, source.high(), source.low());
                Ipv6Header.setDestination(ip, destination.high(), destination.low());
                Ipv6Header.writeFragment(ip + Ipv6Header.LENGTH_BYTES, IpProtocol.ICMPV6, offset, more,
                        identification);
            }
            NativeMemory.copy(message + offset, ip + headersBytes, bytes);
            output.send(EthernetHeader.LENGTH_BYTES + headersBytes + bytes);
        }
    }

    /**
     * Sends an ICMP error that quotes the beginning of the packet.
     *
     * @param word the four bytes between the checksum and the quoted packet: the pointer of a parameter problem, or 0
     */
    void sendError(ParsedFrame cause, IpAddress local, int type, int code, int word) {
        long frame = output.allocate();
        if (frame == 0) {
            return;
        }
        boolean ipv4 = cause.ipVersion() == 4;
        IpAddress peer = IpAddress.sourceOf(cause);
        long peerMac = EthernetHeader.source(cause.frameAddress());
        long message = ipv4 ? ipv4(frame, peerMac) : ipv6(frame, peerMac);
        int roomBytes = (ipv4 ? MAX_ERROR_BYTES_IPV4 - Ipv4Header.MIN_LENGTH_BYTES
                : MAX_ERROR_BYTES_IPV6 - Ipv6Header.LENGTH_BYTES) - IcmpHeader.LENGTH_BYTES;
        int quotedBytes = Math.min(cause.packetLengthBytes(), roomBytes);
        IcmpHeader.write(message, type, code, word);
        NativeMemory.copy(cause.networkHeaderAddress(), message + IcmpHeader.LENGTH_BYTES, quotedBytes);
        int lengthBytes = IcmpHeader.LENGTH_BYTES + quotedBytes;
        if (ipv4) {
            IcmpHeader.updateChecksum(message, lengthBytes);
            sendIpv4(frame, lengthBytes, local, peer);
        } else {
            sendIcmpv6(frame, message, lengthBytes, local, peer, HOP_LIMIT);
        }
    }

    private long ipv4(long frame, long destinationMac) {
        EthernetHeader.write(frame, destinationMac, mac, EtherType.IPV4);
        return frame + EthernetHeader.LENGTH_BYTES + Ipv4Header.MIN_LENGTH_BYTES;
    }

    private long ipv6(long frame, long destinationMac) {
        EthernetHeader.write(frame, destinationMac, mac, EtherType.IPV6);
        return frame + EthernetHeader.LENGTH_BYTES + Ipv6Header.LENGTH_BYTES;
    }

    private void sendIpv4(long frame, int lengthBytes, IpAddress source, IpAddress destination) {
        int totalBytes = Ipv4Header.MIN_LENGTH_BYTES + lengthBytes;
        Ipv4Header.write(frame + EthernetHeader.LENGTH_BYTES, 0, totalBytes, 0, Ipv4Header.DONT_FRAGMENT, HOP_LIMIT,
                IpProtocol.ICMP, source.ipv4(), destination.ipv4());
        output.send(EthernetHeader.LENGTH_BYTES + totalBytes);
    }

    private void sendIcmpv6(long frame, long message, int lengthBytes, IpAddress source, IpAddress destination,
                            int hopLimit) {
        long ip = frame + EthernetHeader.LENGTH_BYTES;
        Ipv6Header.writeFixed(ip, 0, 0, lengthBytes, IpProtocol.ICMPV6, hopLimit);
        Ipv6Header.setSource(ip, source.high(), source.low());
        Ipv6Header.setDestination(ip, destination.high(), destination.low());
        IcmpHeader.updateChecksum(message, lengthBytes, InternetChecksum.pseudoHeaderIpv6(source.high(), source.low(),
                destination.high(), destination.low(), IpProtocol.ICMPV6, lengthBytes));
        output.send(EthernetHeader.LENGTH_BYTES + Ipv6Header.LENGTH_BYTES + lengthBytes);
    }
}
