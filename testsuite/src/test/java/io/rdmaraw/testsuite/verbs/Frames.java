package io.rdmaraw.testsuite.verbs;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;

/** Builds Ethernet frames for tests, as byte arrays. */
final class Frames {
    static final int ETHERNET_HEADER_BYTES = 14;
    static final int MIN_FRAME_BYTES = 60;
    /** A local experimental EtherType (IEEE 802). */
    static final int ETHER_TYPE = 0x88b5;
    private static final byte[] SOURCE = mac("02:00:00:00:00:01");
    private static final byte[] LAST_SOURCE = mac("0e:0e:0e:0e:0e:0e");

    private Frames() {
    }

    /** Returns whether a test sent the frame, by its source address. Kernels on the same link send frames too. */
    static boolean isOwn(byte[] frame) {
        byte[] source = Arrays.copyOfRange(frame, 6, 12);
        return Arrays.equals(source, SOURCE) || Arrays.equals(source, LAST_SOURCE);
    }

    static byte[] mac(String text) {
        return HexFormat.ofDelimiter(":").parseHex(text);
    }

    /** Returns a frame with an experimental EtherType, padded with bytes that depend on their position. */
    static byte[] raw(String destination, String source, int etherType, int lengthBytes) {
        ByteBuffer frame = ByteBuffer.allocate(lengthBytes).put(mac(destination)).put(mac(source))
                .putShort((short) etherType);
        return fill(frame);
    }

    /** Inserts a VLAN tag after the MAC addresses. */
    static byte[] tagged(byte[] frame, int tag) {
        return ByteBuffer.allocate(frame.length + 4).put(frame, 0, 12).putShort((short) 0x8100).putShort((short) tag)
                .put(frame, 12, frame.length - 12).array();
    }

    static byte[] udp4(String source, int sourcePort, String destination, int destinationPort) {
        return ipv4(17, 64, source, destination, l4(17, sourcePort, destinationPort));
    }

    static byte[] tcp4(String source, int sourcePort, String destination, int destinationPort) {
        return ipv4(6, 64, source, destination, l4(6, sourcePort, destinationPort));
    }

    static byte[] ipv4(int protocol, int ttl, String source, String destination, byte[] payload) {
        return ipv4(protocol, ttl, 0, 0, source, destination, payload);
    }

    /** Returns an IPv4 packet. {@code flagsAndOffset} is the 16-bit field that contains the fragment offset. */
    static byte[] ipv4(int protocol, int ttl, int tos, int flagsAndOffset, String source, String destination,
            byte[] payload) {
        ByteBuffer frame = ethernet(0x0800, 20 + payload.length);
        int header = frame.position();
        frame.put((byte) 0x45).put((byte) tos).putShort((short) (20 + payload.length)).putShort((short) 0)
                .putShort((short) flagsAndOffset).put((byte) ttl).put((byte) protocol).putShort((short) 0)
                .put(ip(source)).put(ip(destination));
        frame.putShort(header + 10, (short) checksum(frame, header, 20));
        return frame.put(payload).array();
    }

    static byte[] udp6(String source, int sourcePort, String destination, int destinationPort) {
        return ipv6(17, source, destination, l4(17, sourcePort, destinationPort));
    }

    static byte[] tcp6(String source, int sourcePort, String destination, int destinationPort) {
        return ipv6(6, source, destination, l4(6, sourcePort, destinationPort));
    }

    static byte[] ipv6(int nextHeader, String source, String destination, byte[] payload) {
        return ethernet(0x86dd, 40 + payload.length).putInt(0x6bc12345).putShort((short) payload.length)
                .put((byte) nextHeader).put((byte) 63).put(ip(source)).put(ip(destination)).put(payload).array();
    }

    /** Returns a VXLAN packet that contains a frame. */
    static byte[] vxlan(int networkIdentifier, byte[] inner) {
        ByteBuffer payload = ByteBuffer.allocate(16 + inner.length).putShort((short) 49152).putShort((short) 4789)
                .putShort((short) (16 + inner.length)).putShort((short) 0).putInt(0x08000000)
                .putInt(networkIdentifier << 8).put(inner);
        return ipv4(17, 64, "10.250.0.1", "10.250.0.2", payload.array());
    }

    /** Returns a UDP datagram or TCP segment without payload and checksum. */
    static byte[] l4(int protocol, int sourcePort, int destinationPort) {
        ByteBuffer segment = ByteBuffer.allocate(protocol == 6 ? 20 : 26).putShort((short) sourcePort)
                .putShort((short) destinationPort);
        if (protocol == 6) {
            segment.put(12, (byte) 0x50);
        } else {
            segment.putShort(4, (short) 26);
        }
        return segment.array();
    }

    private static ByteBuffer ethernet(int etherType, int payloadLength) {
        return ByteBuffer.allocate(Math.max(MIN_FRAME_BYTES, ETHERNET_HEADER_BYTES + payloadLength))
                .put(mac("02:00:00:00:00:02")).put(SOURCE).putShort((short) etherType);
    }

    private static byte[] fill(ByteBuffer frame) {
        while (frame.hasRemaining()) {
            frame.put((byte) (frame.position() * 31));
        }
        return frame.array();
    }

    private static byte[] ip(String literal) {
        return InetAddress.ofLiteral(literal).getAddress();
    }

    private static int checksum(ByteBuffer buffer, int offset, int lengthBytes) {
        int sum = 0;
        for (int i = 0; i < lengthBytes; i += 2) {
            sum += buffer.getShort(offset + i) & 0xffff;
        }
        return ~((sum & 0xffff) + (sum >>> 16)) & 0xffff;
    }
}
