package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.socket.DatagramPacket;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.host.IpContext;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PacketReassembly;
import io.rdmaraw.net.ReassemblyLimits;
import io.rdmaraw.queue.ReceiveBurst;
import io.rdmaraw.wire.BufferAddress;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.IcmpHeader;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import io.rdmaraw.wire.UdpHeader;
import io.rdmaraw.wire.UdpIpv4HeaderCodec;

import java.net.InetSocketAddress;
import java.net.PortUnreachableException;

/** Turns the frames that were steered to a datagram channel into its datagrams. For the loop's thread. */
final class DatagramReceiver {
    private final RdmaRawDatagramChannel channel;
    private final RdmaRawDatagramStatistics statistics;
    private final DatagramInbox inbox;
    private final DatagramMemberships memberships;
    private IpContext loop;
    private PacketReassembly fragments;
    /** Looks at what was put together, which is no frame that came. */
    private final FrameParser wholeParser = new FrameParser(new ParseCounters());
    private final ParsedFrame whole = new ParsedFrame();
    private InetSocketAddress local;
    private IpAddress localAddress;
    private boolean localAny;
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
    void moveTo(IpContext newLoop) {
        loop = newLoop;
    }

    /** Sets the addresses that datagrams are checked against. */
    void setAddresses(InetSocketAddress newLocal, InetSocketAddress remoteOrNull) {
        local = newLocal;
        localAddress = IpAddress.of(newLocal.getAddress());
        localAny = localAddress.isAny();
        connected = remoteOrNull != null;
        remoteAddress = connected ? IpAddress.of(remoteOrNull.getAddress()) : null;
        remotePort = connected ? remoteOrNull.getPort() : 0;
    }

    InetSocketAddress local() {
        return local;
    }

    int localPort() {
        return local.getPort();
    }

    /**
     * Takes ordinary datagrams of a burst as long as the user reads all that comes and the channel stays where it is;
     * returns behind the last one. What is left needs the full parser, or has no receiver. See
     * {@link FrameInbox#receiveRun} for why the loop is short.
     */
    int receiveRun(ReceiveBurst burst, int from, int end) {
        if (!inbox.takesRuns()) {
            return from;
        }
        RdmaRawDatagramChannelConfig config = channel.config();
        DeviceQueue port = channel.port();
        ChannelPipeline pipeline = channel.pipeline();
        int next = from;
        int messages = 0;
        int bytes = 0;
        while (next < end && inbox.takesNow() && config.isAutoRead() && channel.port() == port && isUdp(burst, next)) {
            UdpIpv4HeaderCodec udp = loop.udp();
            ByteBuf frame = burst.takeFrame(next++);
            if (!accepts(0, udp.sourceLow(), udp.sourcePort(), 0, udp.destinationLow(), udp.destinationPort())) {
                statistics.droppedNotForChannel++;
                frame.release();
                continue;
            }
            int lengthBytes = udp.payloadLengthBytes();
            messages++;
            bytes += lengthBytes;
            inbox.beginBurst();
            pipeline.fireChannelRead(new DatagramPacket(content(frame, UdpIpv4HeaderCodec.LENGTH_BYTES, lengthBytes),
                    recipient(0, udp.destinationLow()), loop.addresses().get(0, udp.sourceLow(), udp.sourcePort())));
        }
        inbox.taken(messages, bytes);
        return next;
    }

    private boolean isUdp(ReceiveBurst burst, int index) {
        long address = burst.checksumVerified(index) ? burst.slotAddress(index) : 0;
        return address != 0 && loop.parseVerifiedUdp(address, burst.lengthBytes(index));
    }

    /** Takes a frame and its reference; returns true for the first datagram of a burst. */
    boolean receive(ByteBuf frame, boolean checksumVerified) {
        ParseVerdict verdict = loop.parse(frame, checksumVerified);
        ParsedFrame parsed = loop.parsed();
        if (verdict == ParseVerdict.UDP) {
            return receiveUdp(frame, parsed);
        }
        boolean first = false;
        // The allocator that reassembly copies into is the user's, and may throw.
        try {
            if (verdict == ParseVerdict.FRAGMENT) {
                first = receiveFragment(parsed);
            } else if (verdict == ParseVerdict.ICMP || verdict == ParseVerdict.ICMPV6) {
                receiveIcmp(parsed);
            } else if (verdict.isAccepted()) {
                statistics.droppedNotForChannel++;
            } else {
                countRefused(verdict);
            }
        } finally {
            frame.release();
        }
        return first;
    }

    private void countRefused(ParseVerdict verdict) {
        switch (verdict) {
            case UDP_BAD_CHECKSUM -> statistics.droppedBadChecksum++;
            case MARTIAN -> statistics.droppedMartians++;
            case VLAN_FOREIGN -> statistics.droppedForeignVlans++;
            default -> statistics.droppedUnsound++;
        }
    }

    private boolean receiveUdp(ByteBuf frame, ParsedFrame parsed) {
        if (!accepts(parsed.sourceHigh(), parsed.sourceLow(), parsed.sourcePort(), parsed.destinationHigh(),
                parsed.destinationLow(), parsed.destinationPort())) {
            statistics.droppedNotForChannel++;
            frame.release();
            return false;
        }
        InetSocketAddress sender = loop.addresses().get(parsed.sourceHigh(), parsed.sourceLow(), parsed.sourcePort());
        InetSocketAddress recipient = recipient(parsed.destinationHigh(), parsed.destinationLow());
        return inbox.receive(new DatagramPacket(content(frame, parsed.payloadOffset(),
                parsed.payloadLengthBytes()), recipient, sender));
    }

    private InetSocketAddress recipient(long destinationHigh, long destinationLow) {
        return channel.config().isReceiveOriginalDestination()
                ? loop.addresses().get(destinationHigh, destinationLow, local.getPort()) : local;
    }

    /** Shows the payload in place; a frame that others hold too is left as it is for them. */
    private static ByteBuf content(ByteBuf frame, int offset, int lengthBytes) {
        if (frame instanceof FrameBuf slot && slot.refCnt() == 1) {
            return slot.window(offset, lengthBytes);
        }
        return frame.slice(frame.readerIndex() + offset, lengthBytes);
    }

    /**
     * The rules let through more than is meant: fragments match by addresses alone, rules can be shared. By numbers, so
     * that a datagram costs no address objects.
     */
    private boolean accepts(long sourceHigh, long sourceLow, int sourcePort, long destinationHigh, long destinationLow,
                            int destinationPort) {
        if (destinationPort != local.getPort() || connected && (sourcePort != remotePort
                || sourceLow != remoteAddress.low() || sourceHigh != remoteAddress.high())) {
            return false;
        }
        if (IpAddress.isMulticast(destinationHigh, destinationLow)) {
            return memberships.accepts(new IpAddress(destinationHigh, destinationLow),
                    new IpAddress(sourceHigh, sourceLow));
        }
        return localAny || localAddress.low() == destinationLow && localAddress.high() == destinationHigh;
    }

    private boolean receiveFragment(ParsedFrame fragment) {
        if (fragments == null) {
            // Nothing of it is told to senders: the kernel has the fragments too, or the host of our own.
            fragments = new PacketReassembly(channel.alloc(), ReassemblyLimits.DEFAULT, statistics.fragments,
                    ByteBuf::release);
        }
        ByteBuf frame = fragments.add(fragment, System.nanoTime());
        if (frame == null) {
            return false;
        }
        if (wholeParser.parse(BufferAddress.of(frame), frame.readableBytes(), false, whole) != ParseVerdict.UDP) {
            fragments.refuseLast();
            frame.release();
            return false;
        }
        return receiveUdp(frame, whole);
    }

    /** Takes a datagram that was put together from fragments, its UDP header first, and its reference. */
    boolean receiveReassembled(ByteBuf datagram, IpAddress source, IpAddress destination) {
        int sourcePort = datagram.getUnsignedShort(0);
        if (!accepts(source.high(), source.low(), sourcePort, destination.high(), destination.low(),
                datagram.getUnsignedShort(2))) {
            statistics.droppedNotForChannel++;
            datagram.release();
            return false;
        }
        return inbox.receive(new DatagramPacket(datagram.skipBytes(UdpHeader.LENGTH_BYTES),
                recipient(destination.high(), destination.low()),
                loop.addresses().get(source.high(), source.low(), sourcePort)));
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
                && IpAddress.destinationOf(quote).equals(remoteAddress)
                && IpAddress.sourceOf(quote).equals(localAddress);
    }

    /** The peer has no such port; an unconnected channel is not told, as it could not know which peer. */
    void reportPortUnreachable() {
        statistics.portUnreachable++;
        if (connected) {
            inbox.error(new PortUnreachableException("port " + remotePort + " at " + remoteAddress + " is closed"));
        }
    }

    /** Takes a datagram that the kernel's socket has received. */
    void receiveFromKernel(ByteBuf content, InetSocketAddress sender) {
        if (connected && !sender.equals(channel.remoteAddress())) {
            // It came before the socket was connected.
            statistics.droppedNotForChannel++;
            content.release();
            return;
        }
        statistics.receivedFromKernel++;
        inbox.receive(new DatagramPacket(content, local, sender));
    }

    void close() {
        if (fragments != null) {
            fragments.close();
        }
    }
}
