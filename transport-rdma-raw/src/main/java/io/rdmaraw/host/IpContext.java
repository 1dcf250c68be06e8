package io.rdmaraw.host;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.net.IcmpErrorParser;
import io.rdmaraw.wire.BufferAddress;
import io.rdmaraw.wire.FrameOrigin;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import io.rdmaraw.wire.UdpIpv4HeaderCodec;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executor;

/**
 * State that the channels of one loop share on one host: next hops, path MTUs, the buffer of the kernel sockets, and
 * the parsers of received headers. Used on the loop's thread only, unless a method says otherwise.
 */
public final class IpContext {
    private final FrameParser parser;
    private final ParsedFrame parsed = new ParsedFrame();
    private final UdpIpv4HeaderCodec udp = new UdpIpv4HeaderCodec();
    private final SocketAddressCache addresses = new SocketAddressCache();
    private final Executor loop;
    private final int maxWaitingPackets;
    /** Created by the loop. Other threads read its counters. */
    private volatile LoopNeighbors neighbors;
    private final Set<Runnable> hostChangeListeners = new LinkedHashSet<>();
    private KernelBuffer kernelBuffer;
    private final PathMtus pathMtus = new PathMtus();
    private final IcmpErrorParser icmpErrors = new IcmpErrorParser(new ParseCounters());

    /**
     * @param maxWaitingPackets maximum number of packets that wait for the MAC addresses of next hops
     * @param origin origin of the received frames
     */
    public IpContext(Executor loop, int maxWaitingPackets, FrameOrigin origin) {
        parser = new FrameParser(new ParseCounters(), origin);
        this.loop = loop;
        this.maxWaitingPackets = maxWaitingPackets;
    }

    /** Returns the next hops of this loop and the packets that wait for them. */
    LoopNeighbors neighbors(IpHost host) {
        if (neighbors == null) {
            neighbors = new LoopNeighbors(host, loop, maxWaitingPackets, this::hostChanged);
        }
        return neighbors;
    }

    /** Registers an action that runs on the loop when the MAC or IP addresses of the host change. */
    public void addHostChangeListener(Runnable onHostChange) {
        hostChangeListeners.add(onHostChange);
    }

    public void removeHostChangeListener(Runnable onHostChange) {
        hostChangeListeners.remove(onHostChange);
    }

    private void hostChanged() {
        List.copyOf(hostChangeListeners).forEach(Runnable::run);
    }

    public void sendWhenResolved(PendingPacket packet) {
        neighbors.sendWhenResolved(packet);
    }

    /** Returns how often the host could not solicit a neighbour for this loop. May be called on any thread. */
    public long refusedSolicitations() {
        LoopNeighbors known = neighbors;
        return known == null ? 0 : known.refusedSolicitations();
    }

    /**
     * Returns how many packets that waited for a next hop were dropped in favour of packets to other hops. May be
     * called on any thread.
     */
    public long displacedPackets() {
        LoopNeighbors known = neighbors;
        return known == null ? 0 : known.displacedPackets();
    }

    /**
     * Returns how often notifications of network changes were lost and the network was read again. May be called on any
     * thread.
     */
    public long lostNotifications() {
        LoopNeighbors known = neighbors;
        return known == null ? 0 : known.lostNotifications();
    }

    /** Returns the parser verdicts of the frames received by this loop's datagram channels. */
    public ParseCounters parseCounters() {
        return parser.counters();
    }

    /** Returns the paths with an MTU smaller than that of the link. */
    public PathMtus pathMtus() {
        return pathMtus;
    }

    /** Returns the parser of ICMP errors. */
    public IcmpErrorParser icmpErrors() {
        return icmpErrors;
    }

    /** Returns the buffer through which the loop's kernel sockets send and receive. */
    KernelBuffer kernelBuffer() {
        if (kernelBuffer == null) {
            kernelBuffer = new KernelBuffer();
        }
        return kernelBuffer;
    }

    public void close() {
        if (neighbors != null) {
            neighbors.close();
        }
        if (kernelBuffer != null) {
            kernelBuffer.close();
        }
    }

    public SocketAddressCache socketAddresses() {
        return addresses;
    }

    /** Returns the result of the last {@link #parse}. */
    public ParsedFrame parsed() {
        return parsed;
    }

    public ParseVerdict parse(ByteBuf frame, boolean checksumVerified) {
        return parser.parse(BufferAddress.of(frame), frame.readableBytes(), checksumVerified, parsed);
    }

    /** Parses a frame if it is an ordinary datagram; see {@link FrameParser#parseVerifiedUdp}. */
    public boolean parseVerifiedUdp(long address, int lengthBytes) {
        return parser.parseVerifiedUdp(address, lengthBytes, udp);
    }

    /** Returns the result of the last {@link #parseVerifiedUdp}. */
    public UdpIpv4HeaderCodec udp() {
        return udp;
    }

    /** Parses the packet quoted by an ICMP error; see {@link FrameParser#parseQuote}. */
    public ParseVerdict parseQuote(ParsedFrame error, ParsedFrame quote) {
        return parser.parseQuote(error, quote);
    }
}
