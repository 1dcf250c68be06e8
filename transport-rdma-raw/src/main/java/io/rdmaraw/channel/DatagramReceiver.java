package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.socket.DatagramPacket;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.route.IpAddress;
import io.rdmaraw.wire.IcmpHeader;
import io.rdmaraw.wire.ParsedFrame;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.UdpHeader;

import java.net.InetSocketAddress;
import java.net.PortUnreachableException;

/** Turns the frames that were steered to a datagram channel into its datagrams. For the loop's thread. */
final class DatagramReceiver {
    private final RdmaRawDatagramChannel channel;
    private final RdmaRawDatagramStatistics statistics;
    private final DatagramInbox inbox;
    private final DatagramMemberships memberships;
    private DatagramLoop loop;
    private DatagramFragments fragments;
    private InetSocketAddress local;
    private IpAddress localAddress;
    private boolean connected;
    private IpAddress remoteAddress;
    private int remotePort;

    DatagramReceiver(RdmaRawDatagramChannel channel, DatagramInbox inbox, DatagramMemberships memberships) {
        this.channel = channel;
        this.inbox = inbox;
        this.memberships = memberships;
        statistics = channel.statistics();
    }

    /** The channel is on this loop now. */
    void moveTo(DatagramLoop newLoop) {
        loop = newLoop;
    }

    /** Sets the addresses that datagrams are checked against. */
    void setAddresses(InetSocketAddress newLocal, InetSocketAddress remoteOrNull) {
        local = newLocal;
        localAddress = IpAddress.of(newLocal.getAddress());
        connected = remoteOrNull != null;
        remoteAddress = connected ? IpAddress.of(remoteOrNull.getAddress()) : null;
        remotePort = connected ? remoteOrNull.getPort() : 0;
    }

    int localPort() {
        return local.getPort();
    }

    /** Takes a frame and its reference; returns true for the first datagram of a burst. */
    boolean receive(ByteBuf frame, boolean checksumVerified) {
        ParseVerdict verdict = loop.parse(frame, checksumVerified);
        ParsedFrame parsed = loop.parsed();
        if (verdict == ParseVerdict.UDP) {
            return receiveUdp(frame, parsed);
        }
        boolean first = false;
        if (verdict == ParseVerdict.FRAGMENT) {
            first = receiveFragment(frame, parsed);
        } else if (verdict == ParseVerdict.ICMP || verdict == ParseVerdict.ICMPV6) {
            receiveIcmp(parsed);
        } else if (verdict.isAccepted()) {
            statistics.droppedNotForChannel++;
        } else {
            statistics.droppedUnsound++;
        }
        frame.release();
        return first;
    }

    private boolean receiveUdp(ByteBuf frame, ParsedFrame parsed) {
        IpAddress source = DatagramFragments.sourceOf(parsed);
        IpAddress destination = DatagramFragments.destinationOf(parsed);
        if (!accepts(source, parsed.sourcePort(), destination, parsed.destinationPort())) {
            statistics.droppedNotForChannel++;
            frame.release();
            return false;
        }
        return deliver(content(frame, parsed), source, parsed.sourcePort(), destination);
    }

    /** Shows the payload in place; a frame that others hold too is left as it is for them. */
    private static ByteBuf content(ByteBuf frame, ParsedFrame parsed) {
        if (frame instanceof FrameBuf slot && slot.refCnt() == 1) {
            return slot.window(parsed.payloadOffset(), parsed.payloadLengthBytes());
        }
        return frame.slice(frame.readerIndex() + parsed.payloadOffset(), parsed.payloadLengthBytes());
    }

    private boolean deliver(ByteBuf content, IpAddress source, int sourcePort, IpAddress destination) {
        InetSocketAddress sender = loop.addresses().get(source.high(), source.low(), sourcePort);
        InetSocketAddress recipient = !channel.config().isReceiveOriginalDestination() ? local
                : loop.addresses().get(destination.high(), destination.low(), local.getPort());
        return inbox.receive(new DatagramPacket(content, recipient, sender));
    }

    /** The rules let through more than is meant: fragments match by addresses alone, rules can be shared. */
    private boolean accepts(IpAddress source, int sourcePort, IpAddress destination, int destinationPort) {
        if (destinationPort != local.getPort()
                || connected && (sourcePort != remotePort || !source.equals(remoteAddress))) {
            return false;
        }
        if (destination.isMulticast()) {
            return memberships.accepts(destination, source);
        }
        return localAddress.isAny() || localAddress.equals(destination);
    }

    private boolean receiveFragment(ByteBuf frame, ParsedFrame parsed) {
        if (fragments == null) {
            fragments = new DatagramFragments(channel.alloc(), statistics);
        }
        ByteBuf datagram = fragments.add(parsed, frame, System.nanoTime());
        if (datagram == null) {
            return false;
        }
        int sourcePort = datagram.getUnsignedShort(0);
        if (!accepts(fragments.source(), sourcePort, fragments.destination(), datagram.getUnsignedShort(2))) {
            statistics.droppedNotForChannel++;
            datagram.release();
            return false;
        }
        return deliver(datagram.skipBytes(UdpHeader.LENGTH_BYTES), fragments.source(), sourcePort,
                fragments.destination());
    }

    /** Takes an error to heart only when it quotes a datagram that the channel may have sent (RFC 1122, 4.1.3.3). */
    private void receiveIcmp(ParsedFrame error) {
        int type = IcmpHeader.type(error.transportAddress());
        int code = IcmpHeader.code(error.transportAddress());
        boolean portUnreachable = error.ipVersion() == 4
                ? type == IcmpHeader.UNREACHABLE && code == IcmpHeader.CODE_PORT_UNREACHABLE
                : type == IcmpHeader.V6_UNREACHABLE && code == IcmpHeader.V6_CODE_PORT_UNREACHABLE;
        if (portUnreachable && connected && quotesOurs(error)) {
            reportPortUnreachable();
        } else {
            statistics.droppedNotForChannel++;
        }
    }

    private boolean quotesOurs(ParsedFrame error) {
        ParsedFrame quote = new ParsedFrame();
        return loop.parseQuote(error, quote) == ParseVerdict.UDP && quote.sourcePort() == local.getPort()
                && quote.destinationPort() == remotePort
                && DatagramFragments.destinationOf(quote).equals(remoteAddress)
                && DatagramFragments.sourceOf(quote).equals(localAddress);
    }

    /** The peer has no such port; an unconnected channel is not told, as it could not know which peer. */
    void reportPortUnreachable() {
        statistics.portUnreachable++;
        if (connected) {
            inbox.error(new PortUnreachableException("nobody has port " + remotePort + " at " + remoteAddress));
        }
    }

    /** Takes a datagram that the kernel's socket has received. */
    void receiveFromKernel(ByteBuf content, InetSocketAddress sender) {
        statistics.receivedFromKernel++;
        inbox.receive(new DatagramPacket(content, local, sender));
    }

    void close() {
        if (fragments != null) {
            fragments.close();
        }
    }
}
