package io.rdmaraw.channel;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.wire.ArpPacket;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.IcmpHeader;
import io.rdmaraw.wire.InternetChecksum;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;
import io.rdmaraw.wire.NeighborDiscovery;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.wire.TcpHeader;
import io.rdmaraw.wire.UdpHeader;

import java.util.SplittableRandom;

/**
 * Generates frames of every kind that a host understands and then damages them: fields at their limits, changed bytes,
 * wrong lengths, overlapping fragments, impossible sources. Half of them get correct checksums, so that the defects
 * reach the upper layers.
 */
final class MalformedFrames {
    static final int MAX_FRAME_BYTES = 1514;
    private static final int ETHERNET = EthernetHeader.LENGTH_BYTES;
    private static final int[] ODD_NUMBERS = {0, 1, 7, 8, 20, 28, 40, 255, 256, 1280, 1500, 0x7fff, 0x8000, 0xffff};
    private static final int TCP_DATA_OFFSET = 12;
    private static final int TCP_CHECKSUM_OFFSET = 16;
    private static final long ALL_NODES_MAC = 0x3333_0000_0001L;

    private final SplittableRandom random;
    private final long mac;
    private final long peerMac;
    private final IpAddress[] local;
    private final IpAddress[] peer;
    private final int[] ports;

    /**
     * @param local an IPv4 and an IPv6 address of the host
     * @param peer an IPv4 and an IPv6 address of the sender
     * @param ports ports that are bound on the host
     */
    MalformedFrames(long seed, long mac, long peerMac, IpAddress[] local, IpAddress[] peer, int[] ports) {
        random = new SplittableRandom(seed);
        this.mac = mac;
        this.peerMac = peerMac;
        this.local = local;
        this.peer = peer;
        this.ports = ports;
    }

    /** Writes the next frame and returns its length. */
    int write(long frame) {
        boolean ipv4 = random.nextBoolean();
        int lengthBytes = switch (random.nextInt(8)) {
            case 0, 1, 2 -> udp(frame, ipv4);
            case 3, 4 -> fragment(frame, ipv4);
            case 5 -> ipv4 ? arp(frame) : discovery(frame);
            case 6 -> icmp(frame, ipv4);
            default -> other(frame, ipv4);
        };
        int network = tag(frame, lengthBytes);
        lengthBytes += network - ETHERNET;
        bend(frame, lengthBytes);
        if (random.nextInt(8) == 0) {
            lengthBytes = Math.max(ETHERNET, random.nextInt(lengthBytes + 1));
        }
        if (random.nextBoolean()) {
            mend(frame, network, lengthBytes);
        }
        return Math.min(lengthBytes, MAX_FRAME_BYTES);
    }

    private int pick(int usual) {
        return random.nextInt(6) == 0 ? ODD_NUMBERS[random.nextInt(ODD_NUMBERS.length)] : usual;
    }

    private int port() {
        return random.nextInt(4) == 0 ? random.nextInt(65536) : ports[random.nextInt(ports.length)];
    }

    private IpAddress source(boolean ipv4) {
        return switch (random.nextInt(16)) {
            case 0 -> local[ipv4 ? 0 : 1];
            case 1 -> ipv4 ? IpAddress.ANY_IPV4 : IpAddress.ANY_IPV6;
            case 2 -> ipv4 ? IpAddress.BROADCAST : new IpAddress(0xff02L << 48, 1);
            case 3 -> ipv4 ? IpAddress.ipv4(random.nextInt()) : new IpAddress(random.nextLong(), random.nextLong());
            default -> peer[ipv4 ? 0 : 1];
        };
    }

    private IpAddress destination(boolean ipv4) {
        return random.nextInt(10) == 0 ? source(ipv4) : local[ipv4 ? 0 : 1];
    }

    /** Writes Ethernet and IP headers for a payload and returns the address of the payload. */
    private long ip(long frame, boolean ipv4, int protocol, int payloadBytes, int flagsAndOffset, int hopLimit) {
        IpAddress source = source(ipv4);
        IpAddress destination = destination(ipv4);
        long to = random.nextInt(20) == 0 ? EthernetHeader.BROADCAST : mac;
        EthernetHeader.write(frame, to, peerMac, ipv4 ? EtherType.IPV4 : EtherType.IPV6);
        long ip = frame + ETHERNET;
        if (ipv4) {
            Ipv4Header.write(ip, random.nextInt(256), pick(Ipv4Header.MIN_LENGTH_BYTES + payloadBytes),
                    random.nextInt(16), flagsAndOffset, hopLimit, protocol, source.ipv4(), destination.ipv4());
            return ip + Ipv4Header.MIN_LENGTH_BYTES;
        }
        Ipv6Header.writeFixed(ip, random.nextInt(256), random.nextInt(), pick(payloadBytes) & 0xffff, protocol,
                hopLimit);
        Ipv6Header.setSource(ip, source.high(), source.low());
        Ipv6Header.setDestination(ip, destination.high(), destination.low());
        return ip + Ipv6Header.LENGTH_BYTES;
    }

    private static int end(long frame, long payload, int payloadBytes) {
        return (int) (payload - frame) + payloadBytes;
    }

    private void data(long address, int lengthBytes) {
        for (int i = 0; i < lengthBytes; i += Long.BYTES) {
            NetworkOrder.putLong(address + i, random.nextLong());
        }
    }

    private int udp(long frame, boolean ipv4) {
        int bytes = UdpHeader.LENGTH_BYTES + (random.nextInt(4) == 0 ? 0 : random.nextInt(1400));
        long udp = ip(frame, ipv4, IpProtocol.UDP, bytes, 0, 64);
        data(udp, bytes);
        UdpHeader.write(udp, port(), port(), pick(bytes) & 0xffff);
        return end(frame, udp, bytes);
    }

    /** Uses few identifications, so that fragments of different datagrams meet. */
    private int fragment(long frame, boolean ipv4) {
        int bytes = 8 * (1 + random.nextInt(100)) + (random.nextInt(4) == 0 ? random.nextInt(8) : 0);
        int offset = 8 * (random.nextInt(3) == 0 ? random.nextInt(8192) : random.nextInt(8));
        boolean more = random.nextInt(3) != 0;
        if (ipv4) {
            long payload = ip(frame, true, IpProtocol.UDP, bytes,
                    offset / 8 | (more ? Ipv4Header.MORE_FRAGMENTS : 0), 64);
            data(payload, bytes);
            UdpHeader.write(payload, port(), port(), 8 * random.nextInt(64));
            return end(frame, payload, bytes);
        }
        long extension = ip(frame, false, IpProtocol.FRAGMENT, 8 + bytes, 0, 64);
        Ipv6Header.writeFragment(extension, IpProtocol.UDP, offset, more, random.nextInt(16));
        data(extension + 8, bytes);
        UdpHeader.write(extension + 8, port(), port(), 8 * random.nextInt(64));
        return end(frame, extension + 8, bytes);
    }

    private int arp(long frame) {
        EthernetHeader.write(frame, random.nextBoolean() ? EthernetHeader.BROADCAST : mac, peerMac, EtherType.ARP);
        ArpPacket.write(frame + ETHERNET, random.nextInt(4),
                random.nextInt(4) == 0 ? random.nextLong() >>> 16 : peerMac, source(true).ipv4(), mac,
                destination(true).ipv4());
        return 60;
    }

    private int discovery(long frame) {
        int type = NeighborDiscovery.ROUTER_SOLICITATION + random.nextInt(5);
        int bytes = 16 + 8 * random.nextInt(8);
        long message = ip(frame, false, IpProtocol.ICMPV6, bytes, 0, random.nextInt(10) == 0 ? 64 : 255);
        if (random.nextInt(3) == 0) {
            EthernetHeader.write(frame, ALL_NODES_MAC, peerMac, EtherType.IPV6);
        }
        data(message, bytes);
        IcmpHeader.write(message, type, 0, random.nextInt());
        if (type == NeighborDiscovery.ROUTER_ADVERTISEMENT) {
            Ipv6Header.setSource(frame + ETHERNET, 0xfe80L << 48, random.nextInt(4));
        } else {
            IpAddress target = destination(false);
            NetworkOrder.putLong(message + 8, target.high());
            NetworkOrder.putLong(message + 16, target.low());
        }
        for (int at = type == NeighborDiscovery.ROUTER_ADVERTISEMENT ? 16 : 24; at < bytes; at += 8) {
            NetworkOrder.putU16(message + at, (1 + random.nextInt(5)) << 8 | random.nextInt(4));
        }
        return end(frame, message, bytes);
    }

    private int icmp(long frame, boolean ipv4) {
        int bytes = 8 + random.nextInt(200);
        long message = ip(frame, ipv4, ipv4 ? IpProtocol.ICMP : IpProtocol.ICMPV6, bytes, 0, 64);
        data(message, bytes);
        if (random.nextBoolean()) {
            IcmpHeader.write(message, ipv4 ? IcmpHeader.ECHO_REQUEST : IcmpHeader.V6_ECHO_REQUEST, 0, random.nextInt());
        } else {
            IcmpHeader.write(message, ipv4 ? 3 + random.nextInt(10) : 1 + random.nextInt(4), random.nextInt(16), 1280);
            quote(message + 8, ipv4, bytes - 8);
        }
        return end(frame, message, bytes);
    }

    /** Writes a packet that the host could have sent, as quoted by an ICMP error. */
    private void quote(long address, boolean ipv4, int lengthBytes) {
        int headerBytes = ipv4 ? Ipv4Header.MIN_LENGTH_BYTES : Ipv6Header.LENGTH_BYTES;
        if (lengthBytes < headerBytes + 8) {
            return;
        }
        if (ipv4) {
            Ipv4Header.write(address, 0, pick(60), 0, 0, 64, IpProtocol.UDP, local[0].ipv4(), peer[0].ipv4());
        } else {
            Ipv6Header.writeFixed(address, 0, 0, 20, IpProtocol.UDP, 64);
            Ipv6Header.setSource(address, local[1].high(), local[1].low());
            Ipv6Header.setDestination(address, peer[1].high(), peer[1].low());
        }
        UdpHeader.write(address + headerBytes, port(), port(), 20);
    }

    /** Writes TCP, other protocols, extension headers, IP options or other EtherTypes. */
    private int other(long frame, boolean ipv4) {
        int protocol = switch (random.nextInt(8)) {
            case 0, 1 -> IpProtocol.TCP;
            case 2 -> IpProtocol.HOP_BY_HOP;
            case 3 -> IpProtocol.ROUTING;
            case 4 -> IpProtocol.DESTINATION_OPTIONS;
            default -> random.nextInt(256);
        };
        int bytes = 20 + random.nextInt(200);
        long payload = ip(frame, ipv4, protocol, bytes, 0, random.nextInt(256));
        data(payload, bytes);
        NetworkOrder.putU16(payload, random.nextBoolean() ? IpProtocol.UDP << 8 : random.nextInt(65536));
        if (protocol == IpProtocol.TCP) {
            NativeMemory.putByte(payload + TCP_DATA_OFFSET, (byte) (random.nextInt(4, 10) << 4));
        }
        if (ipv4 && random.nextInt(3) == 0) {
            NativeMemory.putByte(frame + ETHERNET, (byte) (0x40 | random.nextInt(16)));
        }
        if (random.nextInt(20) == 0) {
            NetworkOrder.putU16(frame + 12, random.nextInt(65536));
        }
        return end(frame, payload, bytes);
    }

    /** Adds a VLAN tag to some frames and returns the offset of the network header. */
    private int tag(long frame, int lengthBytes) {
        if (random.nextInt(30) != 0 || lengthBytes + 4 > MAX_FRAME_BYTES) {
            return ETHERNET;
        }
        for (int at = lengthBytes - 1; at >= 12; at--) {
            NativeMemory.putByte(frame + at + 4, NativeMemory.getByte(frame + at));
        }
        NetworkOrder.putInt(frame + 12, 0x8100_0000 | random.nextInt(4096));
        return ETHERNET + 4;
    }

    private void bend(long frame, int lengthBytes) {
        for (int n = random.nextInt(3); n > 0; n--) {
            int at = 12 + random.nextInt(Math.min(lengthBytes, 80) - 12);
            NativeMemory.putByte(frame + at, (byte) (random.nextBoolean() ? random.nextInt()
                    : NativeMemory.getByte(frame + at) ^ 1 << random.nextInt(8)));
        }
    }

    /** Corrects the checksums of a packet without changing its other content. */
    private static void mend(long frame, int network, int lengthBytes) {
        long ip = frame + network;
        int rest = lengthBytes - network;
        if (rest >= 20 && (NativeMemory.getByte(ip) & 0xf0) == 0x40) {
            int headerBytes = Math.max(20, (NativeMemory.getByte(ip) & 0xf) * 4);
            if (headerBytes <= rest) {
                Ipv4Header.updateChecksum(ip, headerBytes);
                int bytes = Math.min(rest, Ipv4Header.totalLengthBytes(ip)) - headerBytes;
                mendTransport(ip + headerBytes, bytes, NativeMemory.getByte(ip + 9) & 0xff,
                        InternetChecksum.pseudoHeaderIpv4(ip, NativeMemory.getByte(ip + 9) & 0xff, Math.max(0, bytes)));
            }
        } else if (rest >= 40 && (NativeMemory.getByte(ip) & 0xf0) == 0x60) {
            int bytes = Math.min(rest - 40, Ipv6Header.payloadLengthBytes(ip));
            mendTransport(ip + 40, bytes, Ipv6Header.nextHeader(ip),
                    InternetChecksum.pseudoHeaderIpv6(ip, Ipv6Header.nextHeader(ip), bytes));
        }
    }

    private static void mendTransport(long address, int lengthBytes, int protocol, long pseudoHeader) {
        if (lengthBytes < 8) {
            return;
        }
        if (protocol == IpProtocol.UDP) {
            UdpHeader.setChecksum(address, 0);
            UdpHeader.setChecksum(address, InternetChecksum.finish(
                    InternetChecksum.sum(address, lengthBytes, pseudoHeader)));
        } else if (protocol == IpProtocol.TCP && lengthBytes >= TcpHeader.MIN_LENGTH_BYTES) {
            NetworkOrder.putU16(address + TCP_CHECKSUM_OFFSET, 0);
            NetworkOrder.putU16(address + TCP_CHECKSUM_OFFSET, InternetChecksum.finish(
                    InternetChecksum.sum(address, lengthBytes, pseudoHeader)));
        } else if (protocol == IpProtocol.ICMP) {
            IcmpHeader.updateChecksum(address, lengthBytes);
        } else if (protocol == IpProtocol.ICMPV6) {
            IcmpHeader.updateChecksum(address, lengthBytes, pseudoHeader);
        }
    }
}
