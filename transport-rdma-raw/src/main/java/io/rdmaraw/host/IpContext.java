package io.rdmaraw.host;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.net.IcmpErrors;
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
 * How the channels of one loop see their host, which they share: the next hops and narrow paths that are known, the
 * memory of its kernel sockets, and what reads the headers that come in. For the loop's thread.
 */
public final class IpContext {
    private final FrameParser parser;
    private final ParsedFrame parsed = new ParsedFrame();
    private final UdpIpv4HeaderCodec udp = new UdpIpv4HeaderCodec();
    private final SocketAddressCache addresses = new SocketAddressCache();
    private final Executor loop;
    private final int maxWaitingPackets;
    /** Made by the loop; others ask what it has counted. */
    private volatile LoopNeighbors neighbors;
    private final Set<Runnable> followers = new LinkedHashSet<>();
    private KernelBuffer kernelBuffer;
    private final PathMtus pathMtus = new PathMtus();
    private final IcmpErrors icmpErrors = new IcmpErrors(new ParseCounters());

    /**
     * @param maxWaitingPackets how many packets wait for the MAC addresses of next hops
     * @param origin where the frames come from
     */
    public IpContext(Executor loop, int maxWaitingPackets, FrameOrigin origin) {
        parser = new FrameParser(new ParseCounters(), origin);
        this.loop = loop;
        this.maxWaitingPackets = maxWaitingPackets;
    }

    /** Returns the next hops of this loop, and what waits for them. */
    LoopNeighbors neighbors(IpHost host) {
        if (neighbors == null) {
            neighbors = new LoopNeighbors(host, loop, maxWaitingPackets, this::hostChanged);
        }
        return neighbors;
    }

    /** Has something done whenever the MAC or IP addresses of the host change. */
    public void follow(Runnable onHostChange) {
        followers.add(onHostChange);
    }

    public void unfollow(Runnable onHostChange) {
        followers.remove(onHostChange);
    }

    private void hostChanged() {
        List.copyOf(followers).forEach(Runnable::run);
    }

    public void awaitNeighbor(PendingPacket packet) {
        neighbors.await(packet);
    }

    /** Returns how many times the host could not ask for a neighbour of this loop's. Any thread. */
    public long refusedSolicitations() {
        LoopNeighbors known = neighbors;
        return known == null ? 0 : known.refusedSolicitations();
    }

    /** Returns how many packets were dropped because too many waited for next hops. Any thread. */
    public long displacedPackets() {
        LoopNeighbors known = neighbors;
        return known == null ? 0 : known.displacedPackets();
    }

    /** Returns how often changes of the host's network were lost, and all was read anew. Any thread. */
    public long lostNotifications() {
        LoopNeighbors known = neighbors;
        return known == null ? 0 : known.lostNotifications();
    }

    /** Returns the verdicts on all frames that this loop's datagram channels received. */
    public ParseCounters parseCounters() {
        return parser.counters();
    }

    /** Returns what is known of paths that carry less than the link. */
    public PathMtus pathMtus() {
        return pathMtus;
    }

    /** Returns what reads ICMP errors. */
    public IcmpErrors icmpErrors() {
        return icmpErrors;
    }

    /** Returns the memory through which the loop's kernel sockets send and receive. */
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

    public SocketAddressCache addresses() {
        return addresses;
    }

    /** Returns what {@link #parse} found last. */
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

    /** Returns what {@link #parseVerifiedUdp} found last. */
    public UdpIpv4HeaderCodec udp() {
        return udp;
    }

    /** Parses what an ICMP error quotes; see {@link FrameParser#parseQuote}. */
    public ParseVerdict parseQuote(ParsedFrame error, ParsedFrame quote) {
        return parser.parseQuote(error, quote);
    }
}
