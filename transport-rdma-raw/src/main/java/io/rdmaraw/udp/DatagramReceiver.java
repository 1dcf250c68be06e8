package io.rdmaraw.udp;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelConfig;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.DatagramPacket;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.host.DatagramPath;
import io.rdmaraw.host.IpContext;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.net.IcmpErrorParser;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PacketReassembly;
import io.rdmaraw.net.ReassemblyLimits;
import io.rdmaraw.queue.ReceiveBurst;
import io.rdmaraw.wire.BufferAddress;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.IcmpErrorKind;
import io.rdmaraw.wire.IcmpHeader;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import io.rdmaraw.wire.UdpHeader;
import io.rdmaraw.wire.UdpIpv4HeaderCodec;

import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.PortUnreachableException;
import java.net.SocketException;

/** Converts the frames steered to a datagram channel into datagrams. Used on the loop's thread only. */
final class DatagramReceiver {
    private final DatagramEndpoint endpoint;
    private final DatagramChannel channel;
    private final DatagramCounters counters;
    private final DatagramSink sink;
    private final DatagramMemberships memberships;
    private IpContext ipContext;
    private PacketReassembly reassembly;
    /** Parser of reassembled datagrams. Separate, because they are not counted as received frames. */
    private final FrameParser reassembledParser = new FrameParser(new ParseCounters());
    private final ParsedFrame reassembled = new ParsedFrame();
    private InetSocketAddress localSocketAddress;
    private IpAddress localIp;
    private boolean localAny;
    private boolean connected;
    private IpAddress remoteIp;
    private int remotePort;

    DatagramReceiver(DatagramEndpoint endpoint, DatagramSink sink, DatagramMemberships memberships) {
        this.endpoint = endpoint;
        this.sink = sink;
        this.memberships = memberships;
        channel = endpoint.channel();
        counters = endpoint.counters();
    }

    /** Sets the loop that the channel has joined. */
    void moveTo(IpContext newContext) {
        ipContext = newContext;
    }

    /** Sets the addresses against which datagrams are checked. */
    void setAddresses(InetSocketAddress newLocal, InetSocketAddress remoteOrNull) {
        localSocketAddress = newLocal;
        localIp = IpAddress.of(newLocal.getAddress());
        localAny = localIp.isAny();
        connected = remoteOrNull != null;
        remoteIp = connected ? IpAddress.of(remoteOrNull.getAddress()) : null;
        remotePort = connected ? remoteOrNull.getPort() : 0;
    }

    InetSocketAddress localSocketAddress() {
        return localSocketAddress;
    }

    int localPort() {
        return localSocketAddress.getPort();
    }

    /**
     * Fires ordinary datagrams of a burst while the user reads without restrictions and the channel stays on its queue.
     * Returns the index after the last one. The remaining frames need the full parser or are not read now.
     *
     * <p>The loop is short so that the JIT compiler can inline it; see the inbox of raw frames.
     */
    int receiveRun(ReceiveBurst burst, int from, int end) {
        if (!sink.allowsUncheckedReads()) {
            return from;
        }
        ChannelConfig config = channel.config();
        DeviceQueue deviceQueue = endpoint.deviceQueue();
        ChannelPipeline pipeline = channel.pipeline();
        int next = from;
        int messages = 0;
        int bytes = 0;
        while (next < end && sink.firesImmediately() && config.isAutoRead()
                && endpoint.deviceQueue() == deviceQueue && isUdp(burst, next)) {
            UdpIpv4HeaderCodec udp = ipContext.udp();
            ByteBuf frame = burst.takeFrame(next++);
            if (isMartian(0, udp.sourceLow())) {
                frame.release();
                continue;
            }
            if (!accepts(0, udp.sourceLow(), udp.sourcePort(), 0, udp.destinationLow(), udp.destinationPort())) {
                counters.droppedNotForChannel++;
                frame.release();
                continue;
            }
            int lengthBytes = udp.payloadLengthBytes();
            messages++;
            bytes += lengthBytes;
            sink.beginBurst();
            pipeline.fireChannelRead(new DatagramPacket(content(frame, UdpIpv4HeaderCodec.LENGTH_BYTES, lengthBytes),
                    recipient(0, udp.destinationLow()), address(0, udp.sourceLow(), udp.sourcePort())));
        }
        sink.countInBurst(messages, bytes);
        return next;
    }

    private boolean isUdp(ReceiveBurst burst, int index) {
        long address = burst.checksumVerified(index) ? burst.slotAddress(index) : 0;
        return address != 0 && ipContext.parseVerifiedUdp(address, burst.lengthBytes(index));
    }

    /** Receives a frame and takes over its reference. Returns true for the first datagram of a burst. */
    boolean receive(ByteBuf frame, boolean checksumVerified) {
        ParseVerdict verdict = ipContext.parse(frame, checksumVerified);
        ParsedFrame parsed = ipContext.parsed();
        if (verdict == ParseVerdict.UDP) {
            return receiveUdp(frame, parsed);
        }
        boolean first = false;
        // Reassembly copies into buffers of the user's allocator, which may throw.
        try {
            if (verdict == ParseVerdict.FRAGMENT) {
                first = receiveFragment(parsed);
            } else if (verdict == ParseVerdict.ICMP || verdict == ParseVerdict.ICMPV6) {
                receiveIcmp(parsed);
            } else if (verdict.isAccepted()) {
                counters.droppedNotForChannel++;
            } else {
                countRejected(verdict);
            }
        } finally {
            frame.release();
        }
        return first;
    }

    private void countRejected(ParseVerdict verdict) {
        switch (verdict) {
            case UDP_BAD_CHECKSUM -> counters.droppedBadChecksum++;
            case MARTIAN -> counters.droppedMartians++;
            case VLAN_FOREIGN -> counters.droppedForeignVlans++;
            default -> counters.droppedMalformed++;
        }
    }

    /**
     * Returns whether the source address is invalid, and counts the datagram. A reply to the host's own address would
     * arrive here again.
     */
    private boolean isMartian(long sourceHigh, long sourceLow) {
        boolean martian = endpoint.network().isMartianSource(sourceHigh, sourceLow);
        counters.droppedMartians += martian ? 1 : 0;
        return martian;
    }

    private boolean receiveUdp(ByteBuf frame, ParsedFrame parsed) {
        if (isMartian(parsed.sourceHigh(), parsed.sourceLow())) {
            frame.release();
            return false;
        }
        if (!accepts(parsed.sourceHigh(), parsed.sourceLow(), parsed.sourcePort(), parsed.destinationHigh(),
                parsed.destinationLow(), parsed.destinationPort())) {
            counters.droppedNotForChannel++;
            frame.release();
            return false;
        }
        InetSocketAddress sender = address(parsed.sourceHigh(), parsed.sourceLow(), parsed.sourcePort());
        InetSocketAddress recipient = recipient(parsed.destinationHigh(), parsed.destinationLow());
        return sink.receive(new DatagramPacket(content(frame, parsed.payloadOffset(),
                parsed.payloadLengthBytes()), recipient, sender));
    }

    private InetSocketAddress address(long high, long low, int port) {
        return ipContext.socketAddresses().get(high, low, port, endpoint.network().scopeId());
    }

    private InetSocketAddress recipient(long destinationHigh, long destinationLow) {
        return endpoint.settings().isReceiveOriginalDestination()
                ? address(destinationHigh, destinationLow, localSocketAddress.getPort()) : localSocketAddress;
    }

    /** Returns the payload without a copy. The indices of a frame with other references are not changed. */
    private static ByteBuf content(ByteBuf frame, int offset, int lengthBytes) {
        if (frame instanceof FrameBuf slot && slot.refCnt() == 1) {
            return slot.restrictTo(offset, lengthBytes);
        }
        return frame.slice(frame.readerIndex() + offset, lengthBytes);
    }

    /**
     * Returns whether a datagram is for this channel. Flow rules can match more: fragments match by address only, and
     * rules can be shared. Compares numbers, because address objects would be garbage.
     */
    private boolean accepts(long sourceHigh, long sourceLow, int sourcePort, long destinationHigh, long destinationLow,
                            int destinationPort) {
        if (destinationPort != localSocketAddress.getPort() || connected && (sourcePort != remotePort
                || sourceLow != remoteIp.low() || sourceHigh != remoteIp.high())) {
            return false;
        }
        if (IpAddress.isMulticast(destinationHigh, destinationLow)) {
            return memberships.accepts(new IpAddress(destinationHigh, destinationLow),
                    new IpAddress(sourceHigh, sourceLow));
        }
        return localAny ? endpoint.network().isForHost(destinationHigh, destinationLow)
                : localIp.low() == destinationLow && localIp.high() == destinationHigh;
    }

    private boolean receiveFragment(ParsedFrame fragment) {
        if (reassembly == null) {
            // Does not report dropped fragments to their senders. The kernel or the userspace host also receives the
            // fragments and sends the reports.
            reassembly = new PacketReassembly(channel.alloc(), ReassemblyLimits.DEFAULT, counters.fragments,
                    ByteBuf::release);
        }
        ByteBuf frame = reassembly.add(fragment, System.nanoTime());
        if (frame == null) {
            return false;
        }
        if (reassembledParser.parse(BufferAddress.of(frame), frame.readableBytes(), false,
                reassembled) != ParseVerdict.UDP) {
            reassembly.rejectLast();
            frame.release();
            return false;
        }
        return receiveUdp(frame, reassembled);
    }

    /** Receives a datagram that was reassembled elsewhere and starts with its UDP header. Takes over its reference. */
    boolean receiveReassembled(ByteBuf datagram, IpAddress source, IpAddress destination) {
        int sourcePort = datagram.getUnsignedShort(0);
        if (!accepts(source.high(), source.low(), sourcePort, destination.high(), destination.low(),
                datagram.getUnsignedShort(2))) {
            counters.droppedNotForChannel++;
            datagram.release();
            return false;
        }
        return sink.receive(new DatagramPacket(datagram.skipBytes(UdpHeader.LENGTH_BYTES),
                recipient(destination.high(), destination.low()),
                address(source.high(), source.low(), sourcePort)));
    }

    /**
     * Handles an ICMP error. Only an error that quotes a datagram of this channel counts (RFC 1122 section 4.1.3.3).
     */
    private void receiveIcmp(ParsedFrame error) {
        IcmpErrorKind kind = IcmpErrorParser.kindOf(error.ipVersion(), IcmpHeader.type(error.transportHeaderAddress()),
                IcmpHeader.code(error.transportHeaderAddress()));
        if (kind != null && connected && quotesLocalPort(error)) {
            reportIcmp(kind, remoteIp, remotePort);
        } else {
            counters.droppedNotForChannel++;
        }
    }

    private boolean quotesLocalPort(ParsedFrame error) {
        ParsedFrame quote = new ParsedFrame();
        return ipContext.parseQuote(error, quote) == ParseVerdict.UDP
                && quote.sourcePort() == localSocketAddress.getPort() && quote.destinationPort() == remotePort
                && IpAddress.destinationOf(quote).equals(remoteIp)
                && IpAddress.sourceOf(quote).equals(localIp);
    }

    /**
     * Reports an ICMP error about a datagram that the channel has sent. Handlers see the errors that Linux reports to a
     * connected socket without {@code IP_RECVERR}, if they concern the channel's peer. Other errors, such as an
     * unreachable host, may be temporary.
     */
    void reportIcmp(IcmpErrorKind kind, IpAddress destination, int port) {
        counters.portUnreachable += kind == IcmpErrorKind.PORT_UNREACHABLE ? 1 : 0;
        if (!connected || port != remotePort || !destination.equals(remoteIp)) {
            return;
        }
        String peer = remoteIp + " port " + remotePort;
        switch (kind) {
            case PORT_UNREACHABLE -> sink.storeError(
                    new PortUnreachableException("port " + remotePort + " at " + remoteIp + " is closed"));
            case PROHIBITED -> sink.storeError(
                    new NoRouteToHostException("No route to host: a filter rejects datagrams to " + peer));
            case PROTOCOL_UNREACHABLE -> sink.storeError(
                    new SocketException("Protocol not available: the host of " + peer + " has no UDP"));
            case PARAMETER_PROBLEM -> sink.storeError(
                    new SocketException("Protocol error: a header of a datagram to " + peer + " was rejected"));
            case HOST_UNREACHABLE, TIME_EXCEEDED, PACKET_TOO_BIG -> { }
        }
    }

    /** Reports that no socket of this host has the port that a datagram was sent to. */
    void reportPortUnreachable(DatagramPath path) {
        InetSocketAddress to = path.destination();
        reportIcmp(IcmpErrorKind.PORT_UNREACHABLE, IpAddress.of(to.getAddress()), to.getPort());
    }

    /** Receives a datagram of the kernel socket. */
    void receiveFromKernel(ByteBuf content, InetSocketAddress sender) {
        if (connected && !sender.equals(channel.remoteAddress())) {
            // Received before the kernel socket was connected.
            counters.droppedNotForChannel++;
            content.release();
            return;
        }
        counters.receivedByKernel++;
        sink.receive(new DatagramPacket(content, localSocketAddress, sender));
    }

    void close() {
        if (reassembly != null) {
            reassembly.close();
        }
    }
}
