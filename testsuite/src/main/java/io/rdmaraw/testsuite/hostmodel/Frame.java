package io.rdmaraw.testsuite.hostmodel;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * A frame sent by a host, with the fields that the comparison uses.
 *
 * @param destinationMac MAC address of the next hop
 * @param source         IP address of the host
 * @param protocol       IP protocol; 0 for ARP requests, {@link #SOLICITATION} for neighbour solicitations
 * @param flags          TCP flags
 * @param mss            MSS option of a SYN, or 0
 * @param packetBytes    length of the IP packet
 * @param isFragment     whether the packet is a fragment
 */
record Frame(long sourceMac, long destinationMac, InetAddress source, InetAddress destination, int protocol,
        int sourcePort, int destinationPort, int flags, int sequence, int acknowledgement, byte[] payload, int mss,
        int packetBytes, boolean isFragment) {
    static final int ARP = 0;
    static final int SOLICITATION = -1;
    static final int TCP = 6;
    static final int UDP = 17;
    static final int ICMP = 1;
    static final int ICMP6 = 58;
    static final int FIN = 0x01;
    static final int SYN = 0x02;
    static final int RST = 0x04;
    static final int PSH = 0x08;
    static final int ACK = 0x10;
    static final int URG = 0x20;
    static final int ETHERNET_BYTES = 14;
    private static final int TYPE_IPV4 = 0x0800;
    private static final int TYPE_ARP = 0x0806;
    private static final int TYPE_IPV6 = 0x86dd;
    private static final int IPV4_BYTES = 20;
    private static final int IPV6_BYTES = 40;
    private static final int TCP_BYTES = 20;
    private static final int UDP_BYTES = 8;
    private static final int FRAGMENT_HEADER = 44;
    private static final byte[] NOTHING = {};

    /** Parses a frame. Returns null if the comparison ignores its kind. */
    static Frame parse(byte[] bytes, int length) {
        if (length < ETHERNET_BYTES + IPV4_BYTES) {
            return null;
        }
        ByteBuffer frame = ByteBuffer.wrap(bytes, 0, length);
        long destinationMac = mac(frame, 0);
        long sourceMac = mac(frame, 6);
        return switch (frame.getShort(12) & 0xffff) {
            case TYPE_ARP -> frame.getShort(20) == 1 ? new Frame(sourceMac, destinationMac, address(bytes, 28, 4),
                    address(bytes, 38, 4), ARP, 0, 0, 0, 0, 0, NOTHING, 0, 0, false) : null;
            case TYPE_IPV4 -> ipv4(frame, bytes, sourceMac, destinationMac, length);
            case TYPE_IPV6 -> length < ETHERNET_BYTES + IPV6_BYTES ? null
                    : ipv6(frame, bytes, sourceMac, destinationMac, length);
            default -> null;
        };
    }

    private static Frame ipv4(ByteBuffer frame, byte[] bytes, long sourceMac, long destinationMac, int length) {
        int header = (frame.get(14) & 0xf) * 4;
        int fragment = frame.getShort(20) & 0x3fff;
        int packetBytes = frame.getShort(16) & 0xffff;
        int end = Math.min(length, ETHERNET_BYTES + packetBytes);
        InetAddress source = address(bytes, 26, 4);
        InetAddress destination = address(bytes, 30, 4);
        if ((fragment & 0x1fff) != 0) {
            return null;
        }
        return transport(frame, bytes, sourceMac, destinationMac, source, destination, frame.get(23) & 0xff,
                ETHERNET_BYTES + header, end, packetBytes, fragment != 0);
    }

    private static Frame ipv6(ByteBuffer frame, byte[] bytes, long sourceMac, long destinationMac, int length) {
        int next = frame.get(20) & 0xff;
        int packetBytes = IPV6_BYTES + (frame.getShort(18) & 0xffff);
        int end = Math.min(length, ETHERNET_BYTES + packetBytes);
        int begin = ETHERNET_BYTES + IPV6_BYTES;
        InetAddress source = address(bytes, 22, 16);
        InetAddress destination = address(bytes, 38, 16);
        boolean isFragment = next == FRAGMENT_HEADER;
        if (isFragment) {
            if ((frame.getShort(begin + 2) & 0xfff8) != 0) {
                return null;
            }
            next = frame.get(begin) & 0xff;
            begin += 8;
        }
        if (next == ICMP6 && frame.get(begin) == (byte) 135) {
            return new Frame(sourceMac, destinationMac, source, address(bytes, begin + 8, 16), SOLICITATION, 0, 0, 0,
                    0, 0, NOTHING, 0, packetBytes, false);
        }
        return transport(frame, bytes, sourceMac, destinationMac, source, destination, next, begin, end, packetBytes,
                isFragment);
    }

    private static Frame transport(ByteBuffer frame, byte[] bytes, long sourceMac, long destinationMac,
            InetAddress source, InetAddress destination, int protocol, int begin, int end, int packetBytes,
            boolean isFragment) {
        if (protocol == UDP && end >= begin + UDP_BYTES) {
            return new Frame(sourceMac, destinationMac, source, destination, UDP, frame.getShort(begin) & 0xffff,
                    frame.getShort(begin + 2) & 0xffff, 0, 0, 0, Arrays.copyOfRange(bytes, begin + UDP_BYTES, end), 0,
                    packetBytes, isFragment);
        }
        if (protocol == TCP && end >= begin + TCP_BYTES) {
            int header = (frame.get(begin + 12) >> 4 & 0xf) * 4;
            int flags = frame.get(begin + 13) & 0x3f;
            return new Frame(sourceMac, destinationMac, source, destination, TCP, frame.getShort(begin) & 0xffff,
                    frame.getShort(begin + 2) & 0xffff, flags, frame.getInt(begin + 4), frame.getInt(begin + 8),
                    Arrays.copyOfRange(bytes, Math.min(begin + header, end), end),
                    (flags & SYN) == 0 ? 0 : mss(frame, begin + TCP_BYTES, begin + header), packetBytes, isFragment);
        }
        return null;
    }

    private static int mss(ByteBuffer frame, int begin, int end) {
        int at = begin;
        while (at + 1 < end && frame.get(at) != 0) {
            if (frame.get(at) == 2) {
                return frame.getShort(at + 2) & 0xffff;
            }
            at += frame.get(at) == 1 ? 1 : Math.max(2, frame.get(at + 1));
        }
        return 0;
    }

    private static long mac(ByteBuffer frame, int at) {
        return (frame.getShort(at) & 0xffffL) << 32 | frame.getInt(at + 2) & 0xffff_ffffL;
    }

    private static InetAddress address(byte[] bytes, int at, int length) {
        try {
            return InetAddress.getByAddress(Arrays.copyOfRange(bytes, at, at + length));
        } catch (UnknownHostException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Builds a frame with a datagram. */
    static byte[] udp(long destinationMac, long sourceMac, InetAddress source, InetAddress destination,
            int sourcePort, int destinationPort, byte[] payload) {
        ByteBuffer udp = ByteBuffer.allocate(UDP_BYTES + payload.length);
        udp.putShort((short) sourcePort).putShort((short) destinationPort).putShort((short) udp.capacity())
                .putShort((short) 0).put(payload);
        return packet(destinationMac, sourceMac, source, destination, UDP, udp.array(), 6);
    }

    /** Builds a frame with a segment. A SYN offers an MSS of 1460. */
    static byte[] tcp(long destinationMac, long sourceMac, InetAddress source, InetAddress destination,
            int sourcePort, int destinationPort, int flags, int sequence, int acknowledgement, int urgentPointer,
            byte[] payload) {
        int options = (flags & SYN) == 0 ? 0 : 4;
        ByteBuffer tcp = ByteBuffer.allocate(TCP_BYTES + options + payload.length);
        tcp.putShort((short) sourcePort).putShort((short) destinationPort).putInt(sequence).putInt(acknowledgement)
                .put((byte) ((TCP_BYTES + options) / 4 << 4)).put((byte) flags).putShort((short) 0xf000)
                .putShort((short) 0).putShort((short) urgentPointer);
        if (options != 0) {
            tcp.put((byte) 2).put((byte) 4).putShort((short) 1460);
        }
        tcp.put(payload);
        return packet(destinationMac, sourceMac, source, destination, TCP, tcp.array(), 16);
    }

    /** Builds the reply to an ARP request or a neighbour solicitation. */
    static byte[] neighbor(Frame question, long mac) {
        byte[] target = question.destination().getAddress();
        if (target.length == 4) {
            ByteBuffer arp = ByteBuffer.allocate(ETHERNET_BYTES + 28);
            putMac(putMac(arp, question.sourceMac()), mac).putShort((short) TYPE_ARP);
            arp.putShort((short) 1).putShort((short) TYPE_IPV4).put((byte) 6).put((byte) 4).putShort((short) 2);
            putMac(arp, mac).put(target);
            putMac(arp, question.sourceMac()).put(question.source().getAddress());
            return arp.array();
        }
        ByteBuffer advertisement = ByteBuffer.allocate(32);
        advertisement.put((byte) 136).put((byte) 0).putShort((short) 0).putInt(0x6000_0000).put(target).put((byte) 2)
                .put((byte) 1);
        putMac(advertisement, mac);
        return packet(question.sourceMac(), mac, question.destination(), question.source(), ICMP6,
                advertisement.array(), 2);
    }

    /**
     * Builds a router advertisement without prefixes to all nodes. The frame has the MAC address of one link, because
     * a macvlan and its lower link both receive a frame to a group, in an order that differs between hosts.
     */
    static byte[] routerAdvertisement(long destinationMac, long mac, InetAddress router, int lifetimeSeconds,
            int preference) {
        ByteBuffer message = ByteBuffer.allocate(24);
        message.put((byte) 134).put((byte) 0).putShort((short) 0).put((byte) 64).put((byte) (preference << 3))
                .putShort((short) lifetimeSeconds).putInt(0).putInt(0).put((byte) 1).put((byte) 1);
        putMac(message, mac);
        return packet(destinationMac, mac, router, ofText("ff02::1"), ICMP6, message.array(), 2);
    }

    static InetAddress ofText(String address) {
        return InetAddress.ofLiteral(address);
    }

    private static byte[] packet(long destinationMac, long sourceMac, InetAddress source, InetAddress destination,
            int protocol, byte[] segment, int checksumAt) {
        boolean ipv4 = source.getAddress().length == 4;
        int header = ipv4 ? IPV4_BYTES : IPV6_BYTES;
        ByteBuffer frame = ByteBuffer.allocate(ETHERNET_BYTES + header + segment.length);
        putMac(putMac(frame, destinationMac), sourceMac).putShort((short) (ipv4 ? TYPE_IPV4 : TYPE_IPV6));
        if (ipv4) {
            frame.put((byte) 0x45).put((byte) 0).putShort((short) (header + segment.length)).putShort((short) 0)
                    .putShort((short) 0x4000).put((byte) 64).put((byte) protocol).putShort((short) 0);
        } else {
            frame.putInt(0x6000_0000).putShort((short) segment.length).put((byte) protocol).put((byte) 255);
        }
        frame.put(source.getAddress()).put(destination.getAddress());
        if (ipv4) {
            frame.putShort(24, (short) ~fold(sum(frame.array(), ETHERNET_BYTES, header)));
        }
        long pseudo = sum(source.getAddress(), 0, source.getAddress().length)
                + sum(destination.getAddress(), 0, destination.getAddress().length) + protocol + segment.length;
        int checksum = ~fold(pseudo + sum(segment, 0, segment.length)) & 0xffff;
        segment[checksumAt] = (byte) (checksum >> 8);
        segment[checksumAt + 1] = (byte) checksum;
        return frame.put(segment).array();
    }

    private static ByteBuffer putMac(ByteBuffer frame, long mac) {
        return frame.putShort((short) (mac >> 32)).putInt((int) mac);
    }

    private static long sum(byte[] bytes, int begin, int length) {
        long sum = 0;
        for (int i = 0; i < length; i++) {
            sum += (bytes[begin + i] & 0xffL) << ((i & 1) == 0 ? 8 : 0);
        }
        return sum;
    }

    private static int fold(long sum) {
        long folded = sum;
        while (folded >> 16 != 0) {
            folded = (folded & 0xffff) + (folded >> 16);
        }
        return (int) folded;
    }
}
