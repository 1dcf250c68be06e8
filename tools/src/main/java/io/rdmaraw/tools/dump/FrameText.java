package io.rdmaraw.tools.dump;

import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.IpProtocol;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;

/** Describes a frame in one line, in tcpdump's notation. TCP's sequence numbers are those of the segment. */
final class FrameText {
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("HH:mm:ss.SSSSSS").withZone(ZoneId.systemDefault());
    private static final int ETHERNET_BYTES = 14;
    private static final int IPV6_HEADER_BYTES = 40;
    private static final int ICMP = 1;
    private static final int ICMPV6 = 58;
    private static final int HOP_BY_HOP = 0;
    private static final int ROUTING = 43;
    private static final int FRAGMENT = 44;
    private static final int DESTINATION_OPTIONS = 60;
    private static final int ARP_REQUEST = 1;
    private static final int FIN_SYN_RST = 7;
    private static final String FLAGS = "FSRP.UEW";

    private final ByteBuffer frame;
    private final int lengthBytes;
    private final StringBuilder line = new StringBuilder();

    private FrameText(CaptureReply.Frame frame) {
        this.frame = ByteBuffer.wrap(frame.bytes());
        lengthBytes = frame.lengthBytes();
        line.append(TIME.format(Instant.ofEpochSecond(0, frame.timeNanos()))).append(frame.sent() ? " Out " : " In  ");
    }

    static String of(CaptureReply.Frame frame) {
        FrameText text = new FrameText(frame);
        try {
            text.describeEthernet();
        } catch (IndexOutOfBoundsException e) {
            text.line.append(" [|cut off]");
        }
        if (!frame.dropReason().isEmpty()) {
            text.line.append(" (dropped: ").append(frame.dropReason()).append(')');
        }
        return text.line.toString();
    }

    private int u8(int offset) {
        return frame.get(offset) & 0xff;
    }

    private int u16(int offset) {
        return frame.getShort(offset) & 0xffff;
    }

    private void describeEthernet() {
        int at = ETHERNET_BYTES;
        int type = u16(at - 2);
        while (EtherType.isVlan(type)) {
            line.append("vlan ").append(u16(at) & 0xfff).append(", ");
            type = u16(at + 2);
            at += 4;
        }
        switch (type) {
            case EtherType.IPV4 -> describeIpv4(at);
            case EtherType.IPV6 -> describeIpv6(at);
            case EtherType.ARP -> describeArp(at);
            default -> line.append(mac(6)).append(" > ").append(mac(0)).append(", ethertype 0x")
                    .append(String.format("%04x", type)).append(", length ").append(lengthBytes);
        }
    }

    private String mac(int offset) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 6; i++) {
            text.append(i == 0 ? "" : ":").append(String.format("%02x", u8(offset + i)));
        }
        return text.toString();
    }

    private String address(int offset, int length) {
        byte[] bytes = new byte[length];
        frame.get(offset, bytes);
        try {
            return InetAddress.getByAddress(bytes).getHostAddress();
        } catch (UnknownHostException e) {
            throw new IllegalStateException(e);
        }
    }

    private void describeArp(int at) {
        String asked = address(at + 24, 4);
        String sender = address(at + 14, 4);
        line.append(u16(at + 6) == ARP_REQUEST ? "ARP, request who-has " + asked + " tell " + sender
                : "ARP, reply " + sender + " is-at " + mac(at + 8));
    }

    private void describeIpv4(int at) {
        int headerBytes = 4 * (u8(at) & 0xf);
        int fragment = u16(at + 6) & 0x1fff;
        line.append("IP ");
        describePayload(u8(at + 9), at + headerBytes, u16(at + 2) - headerBytes, address(at + 12, 4),
                address(at + 16, 4), fragment * 8);
    }

    private void describeIpv6(int at) {
        line.append("IP6 ");
        int next = u8(at + 6);
        int start = at + IPV6_HEADER_BYTES;
        int end = start + u16(at + 4);
        int fragment = 0;
        while (next == HOP_BY_HOP || next == ROUTING || next == DESTINATION_OPTIONS || next == FRAGMENT) {
            if (next == FRAGMENT) {
                fragment = u16(start + 2) & 0xfff8;
            }
            int bytes = next == FRAGMENT ? 8 : 8 * (u8(start + 1) + 1);
            next = u8(start);
            start += bytes;
        }
        describePayload(next, start, end - start, address(at + 8, 16), address(at + 24, 16), fragment);
    }

    private void describePayload(int protocol, int at, int payloadBytes, String source, String destination,
            int fragmentOffset) {
        boolean hasPorts = fragmentOffset == 0 && (protocol == IpProtocol.TCP || protocol == IpProtocol.UDP);
        line.append(source).append(hasPorts ? "." + u16(at) : "").append(" > ").append(destination)
                .append(hasPorts ? "." + u16(at + 2) : "").append(": ");
        if (fragmentOffset > 0) {
            line.append("fragment at ").append(fragmentOffset).append(" of protocol ").append(protocol)
                    .append(", length ").append(payloadBytes);
        } else if (protocol == IpProtocol.TCP) {
            describeTcp(at, payloadBytes);
        } else if (protocol == IpProtocol.UDP) {
            line.append("UDP, length ").append(u16(at + 4) - 8);
        } else if (protocol == ICMP || protocol == ICMPV6) {
            line.append(protocol == ICMP ? "ICMP" : "ICMP6").append(", type ").append(u8(at)).append(", code ")
                    .append(u8(at + 1)).append(", length ").append(payloadBytes);
        } else {
            line.append("protocol ").append(protocol).append(", length ").append(payloadBytes);
        }
    }

    private void describeTcp(int at, int payloadBytes) {
        int flags = u8(at + 13);
        int dataBytes = payloadBytes - 4 * (u8(at + 12) >>> 4);
        line.append("Flags [");
        for (int bit : new int[] {1, 0, 3, 2, 4, 5, 6, 7}) {
            if ((flags >>> bit & 1) != 0) {
                line.append(FLAGS.charAt(bit));
            }
        }
        line.append(']');
        if (dataBytes > 0 || (flags & FIN_SYN_RST) != 0) {
            line.append(", seq ").append(Integer.toUnsignedString(frame.getInt(at + 4)));
        }
        if (dataBytes > 0) {
            line.append(':').append(Integer.toUnsignedString(frame.getInt(at + 4) + dataBytes));
        }
        if ((flags & 1 << 4) != 0) {
            line.append(", ack ").append(Integer.toUnsignedString(frame.getInt(at + 8)));
        }
        line.append(", win ").append(u16(at + 14)).append(", length ").append(dataBytes);
    }
}
