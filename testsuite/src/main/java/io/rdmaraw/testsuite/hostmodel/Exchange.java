package io.rdmaraw.testsuite.hostmodel;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.TreeSet;

/**
 * Performs a probe on one host, with the harness as the peer. For a connection that stays open, the same object
 * performs all probes.
 */
final class Exchange {
    private static final int FIRST_SEQUENCE = 1000;

    private final Side side;
    private final int id;
    private Probe probe;
    private final Set<Answer.Reply> replies = new TreeSet<>();
    private final StringBuilder echoed = new StringBuilder();
    /** Sequence number of the peer's next byte, and of its first byte that the host has not acknowledged. */
    private int sendNext = FIRST_SEQUENCE;
    private int unacknowledged = FIRST_SEQUENCE;
    private int receiveNext;
    private boolean isOpen;
    private String unacknowledgedText = "";
    private String localResult;

    Exchange(Side side, int id, Probe probe) {
        this.side = side;
        this.id = id;
        this.probe = probe;
    }

    int id() {
        return id;
    }

    /** Returns whether the connection has been opened and not been reset. */
    boolean isOpen() {
        return isOpen;
    }

    /** Sends the packet to the host, or lets the host send it. */
    void begin() {
        InetAddress destination = Frame.ofText(probe.destination());
        switch (probe.kind()) {
            case DATAGRAM -> side.inject(probe.link(), Frame.udp(macOf(destination), peerMac(), source(), destination,
                    peerPort(), serverPort(), NettyHost.payload(id, probe.detail())));
            case SYN, EXCHANGE, URGENT, OPEN_LIVE -> segment(Frame.SYN, FIRST_SEQUENCE, 0, "");
            case LIVE_DATA -> sendData("live" + id % 1000 + ' ');
            case SEND -> side.program().send(id, scoped(), probe.isIpv6(), Math.max(8, probe.detail()));
            case CONNECT -> side.program().connect(id, new InetSocketAddress(scoped().getAddress(), id), local());
            case LOCAL_CONNECT -> {
                localResult = LocalClient.exchange(side.namespace(), destination, serverPort());
                if (side.program().hasConnectionOf(destination)) {
                    localResult = "a connection of this client is left in the device's TCP";
                }
            }
            default -> throw new IllegalStateException(probe.toString());
        }
    }

    /** Continues with another probe on the same connection. */
    void continueWith(Probe next) {
        probe = next;
        replies.clear();
        echoed.setLength(0);
        side.program().forgetDelivery(id);
    }

    private InetSocketAddress local() {
        return probe.source().isEmpty() ? null : new InetSocketAddress(source(), 0);
    }

    private InetAddress source() {
        return Frame.ofText(probe.source());
    }

    private int peerPort() {
        return probe.kind() == Probe.Kind.DATAGRAM ? 9000 : id;
    }

    private int serverPort() {
        boolean ipv6 = probe.isIpv6();
        return probe.kind().isTcp() ? ipv6 ? NettyHost.TCP6_PORT : NettyHost.TCP4_PORT
                : ipv6 ? NettyHost.UDP6_PORT : NettyHost.UDP4_PORT;
    }

    private InetSocketAddress scoped() {
        InetAddress address = Frame.ofText(probe.destination());
        if (probe.link() >= 0) {
            try {
                address = java.net.Inet6Address.getByAddress(null, address.getAddress(), side.index(probe.link()));
            } catch (UnknownHostException e) {
                throw new IllegalStateException(e);
            }
        }
        return new InetSocketAddress(address, 40_009);
    }

    private long peerMac() {
        return Macs.of(probe.link(), Frame.ofText(probe.via()));
    }

    private long macOf(InetAddress destination) {
        byte[] bytes = destination.getAddress();
        if (destination.isMulticastAddress()) {
            long low = (bytes[bytes.length - 3] & 0xffL) << 16 | (bytes[bytes.length - 2] & 0xffL) << 8
                    | bytes[bytes.length - 1] & 0xffL;
            return bytes.length == 4 ? 0x0100_5e00_0000L | low & 0x7f_ffff
                    : 0x3333_0000_0000L | (bytes[12] & 0xffL) << 24 | low;
        }
        return probe.destination().endsWith(".255") ? 0xffff_ffff_ffffL : Macs.ofHost(probe.link());
    }

    private void segment(int flags, int sequence, int urgentPointer, String text) {
        InetAddress destination = Frame.ofText(probe.destination());
        side.inject(probe.link(), Frame.tcp(macOf(destination), peerMac(), source(), destination, id, serverPort(),
                flags, sequence, (flags & Frame.ACK) == 0 ? 0 : receiveNext, urgentPointer,
                text.getBytes(StandardCharsets.US_ASCII)));
    }

    private void sendData(String text) {
        if (isOpen) {
            unacknowledgedText += text;
            sendNext = unacknowledged + unacknowledgedText.length();
            segment(Frame.ACK | Frame.PSH, unacknowledged, 0, unacknowledgedText);
        }
    }

    /** Processes a frame of the host that belongs to this exchange. */
    void take(Frame frame, int link) {
        if (frame.protocol() == Frame.UDP) {
            add(frame, link, (frame.isFragment() ? "fragment of " : "") + frame.packetBytes() + " bytes");
        } else if (probe.kind() == Probe.Kind.CONNECT) {
            takeOfClient(frame, link);
        } else if ((frame.flags() & Frame.RST) != 0) {
            add(frame, link, "RST");
            isOpen = false;
        } else if ((frame.flags() & Frame.SYN) != 0) {
            takeSynAck(frame, link);
        } else if (isOpen) {
            takeSegment(frame, link);
        }
    }

    private void add(Frame frame, int link, String detail) {
        replies.add(new Answer.Reply(link, Macs.name(frame.destinationMac()),
                frame.source().getHostAddress().replaceAll("%.*", ""), detail));
    }

    private void takeOfClient(Frame frame, int link) {
        if ((frame.flags() & Frame.SYN) != 0) {
            add(frame, link, "SYN mss " + frame.mss());
            side.inject(link, Frame.tcp(Macs.ofHost(link), frame.destinationMac(), frame.destination(),
                    frame.source(), frame.destinationPort(), frame.sourcePort(), Frame.RST | Frame.ACK, 0,
                    frame.sequence() + 1, 0, new byte[0]));
        }
    }

    private void takeSynAck(Frame frame, int link) {
        add(frame, link, "SYN-ACK mss " + frame.mss());
        receiveNext = frame.sequence() + 1;
        if (probe.kind() == Probe.Kind.SYN) {
            segment(Frame.RST, FIRST_SEQUENCE + 1, 0, "");
            return;
        }
        if (isOpen) {
            return;
        }
        isOpen = true;
        unacknowledged = FIRST_SEQUENCE + 1;
        sendNext = unacknowledged;
        if (probe.kind() == Probe.Kind.URGENT) {
            unacknowledgedText = "ab!cd";
            sendNext = unacknowledged + unacknowledgedText.length();
            segment(Frame.ACK, unacknowledged, 0, "");
            segment(Frame.ACK | Frame.PSH | Frame.URG, unacknowledged, 3, unacknowledgedText);
        } else {
            sendData("probe" + id % 1000 + ' ');
        }
    }

    private void takeSegment(Frame frame, int link) {
        add(frame, link, "");
        int acknowledged = frame.acknowledgement() - unacknowledged;
        if (acknowledged > 0 && acknowledged <= unacknowledgedText.length()) {
            unacknowledged = frame.acknowledgement();
            unacknowledgedText = unacknowledgedText.substring(acknowledged);
        }
        int behind = receiveNext - frame.sequence();
        if (behind >= 0 && behind < frame.payload().length) {
            echoed.append(new String(frame.payload(), behind, frame.payload().length - behind,
                    StandardCharsets.US_ASCII));
            receiveNext = frame.sequence() + frame.payload().length;
        }
        if (frame.payload().length > 0) {
            segment(Frame.ACK, sendNext, 0, "");
        }
    }

    /** Ends the connection that the exchange has left open on the host. */
    void end() {
        if (probe.kind().isIncoming() && probe.kind().isTcp()) {
            segment(Frame.RST, unacknowledged, 0, "");
            if (sendNext != unacknowledged) {
                segment(Frame.RST, sendNext, 0, "");
            }
            isOpen = false;
        }
        side.program().giveUp(id);
    }

    /** Returns the reaction of the host so far. */
    Answer answer() {
        Set<Answer.Reply> all = new TreeSet<>(replies);
        if (!echoed.isEmpty()) {
            String text = echoed.toString().replaceAll("\\d+", "N");
            all.add(new Answer.Reply(probe.link(), "any", "any", "echoed " + text));
        }
        String outcome = probe.kind() == Probe.Kind.LOCAL_CONNECT ? localResult : side.program().outcome(id);
        return new Answer(side.program().delivered(id), all, "none".equals(outcome) ? null : outcome);
    }
}
