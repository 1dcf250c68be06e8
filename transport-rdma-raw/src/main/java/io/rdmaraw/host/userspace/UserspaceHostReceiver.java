package io.rdmaraw.host.userspace;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.host.IpContext;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.loop.CrossLoopQueueLimit;
import io.rdmaraw.loop.LoopTasks;
import io.rdmaraw.net.IcmpError;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PacketReassembly;
import io.rdmaraw.net.ReassemblyLimits;
import io.rdmaraw.wire.BufferAddress;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.IcmpHeader;
import io.rdmaraw.wire.NeighborDiscovery;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;

/**
 * Dispatches the frames that a userspace host receives. A frame is for the host itself, for a port of the host that has
 * no matching rule, or for none. Used on the loop that drives the host.
 */
public final class UserspaceHostReceiver {
    /** Finds the owners of ports. */
    public interface Ports {
        /** Returns the owner of the port that a packet is sent to, or null. */
        PortOwner find(int protocol, IpAddress source, int sourcePort, IpAddress destination, int destinationPort);
    }

    private final UserspaceHostEngine host;
    private final Ports ports;
    private final IpContext ipContext;
    private final PacketReassembly reassembly;
    /** Parses reassembled packets. It has separate counters because these are not received frames. */
    private final FrameParser reassembledParser = new FrameParser(new ParseCounters());
    private final ParsedFrame reassembledFrame = new ParsedFrame();
    private long nowNanos;
    private final UserspaceHostStatistics statistics;
    private final CrossLoopQueueLimit queueLimit = new CrossLoopQueueLimit();

    public UserspaceHostReceiver(UserspaceHostEngine host, Ports ports, IpContext ipContext, ByteBufAllocator allocator,
                    ReassemblyLimits limits, UserspaceHostStatistics statistics) {
        this.host = host;
        this.ports = ports;
        this.ipContext = ipContext;
        this.statistics = statistics;
        reassembly = new PacketReassembly(allocator, limits, statistics.fragments(), this::onReassemblyExpired);
    }

    /** Releases the fragments of incomplete packets. */
    public void close() {
        reassembly.close();
    }

    /** Processes a frame and takes its reference. */
    public void receive(ByteBuf frame, boolean checksumVerified, long now) {
        ParseVerdict verdict = ipContext.parse(frame, checksumVerified);
        ParsedFrame parsed = ipContext.parsed();
        if (verdict.isAccepted()) {
            dispatch(frame, checksumVerified, false, parsed, verdict, now);
        } else {
            statistics.countRefused(verdict);
            refuse(parsed, verdict, now);
            frame.release();
        }
    }

    private void refuse(ParsedFrame parsed, ParseVerdict verdict, long now) {
        if (verdict == ParseVerdict.IPV6_UNKNOWN_OPTION || verdict == ParseVerdict.IPV6_ROUTING_HEADER
                || verdict == ParseVerdict.IPV6_BAD_FRAGMENT) {
            host.refuse(parsed, verdict, now);
        }
    }

    /**
     * Dispatches a frame by its protocol.
     *
     * @param reassembled whether the frame was reassembled from fragments
     */
    private void dispatch(ByteBuf frame, boolean checksumVerified, boolean reassembled, ParsedFrame parsed,
                      ParseVerdict verdict, long now) {
        if (host.receive(parsed, verdict, now)) {
            frame.release();
            return;
        }
        switch (verdict) {
            case UDP, TCP -> deliverLocally(frame, checksumVerified, reassembled, parsed, verdict, now);
            case FRAGMENT -> reassemble(frame, parsed, now);
            case ICMP, ICMPV6 -> {
                deliverError(ipContext.icmpErrors().read(parsed));
                frame.release();
            }
            default -> {
                statistics.unclaimedFrames++;
                if (verdict == ParseVerdict.OTHER_PROTOCOL) {
                    host.refuse(parsed, verdict, now);
                }
                frame.release();
            }
        }
    }

    /**
     * Passes a packet to the owner of its port. No rule delivered it to the channel, because the device's table is full
     * or because the port is closed.
     */
    private void deliverLocally(ByteBuf frame, boolean checksumVerified, boolean reassembled, ParsedFrame parsed,
                          ParseVerdict verdict, long now) {
        IpAddress destination = IpAddress.destinationOf(parsed);
        if (isForeign(destination)) {
            dropForeign(frame);
            return;
        }
        PortOwner owner = ports.find(parsed.protocol(), IpAddress.sourceOf(parsed), parsed.sourcePort(),
                destination, parsed.destinationPort());
        if (owner == null) {
            statistics.unclaimedFrames++;
            if (verdict == ParseVerdict.UDP) {
                host.refuse(parsed, now);
            }
            frame.release();
        } else if (reassembled && verdict == ParseVerdict.UDP) {
            IpAddress source = IpAddress.sourceOf(parsed);
            ByteBuf datagram = frame.slice(parsed.transportOffset(), parsed.transportHeaderLengthBytes()
                    + parsed.payloadLengthBytes());
            executeOnOwner(owner, datagram, () -> owner.receiveReassembled(datagram, source, destination));
        } else {
            executeOnOwner(owner, frame, () -> owner.receiveUnsteered(frame, checksumVerified));
        }
    }

    /**
     * Returns whether a unicast address belongs to another host. Packets to it are neither accepted nor answered (RFC
     * 1122 section 3.2.1.3).
     */
    private boolean isForeign(IpAddress destination) {
        return !destination.isMulticast() && !host.addresses().contains(destination);
    }

    private void dropForeign(ByteBuf packet) {
        statistics.foreignPackets++;
        packet.release();
    }

    /** Passes a packet to the loop of its owner, unless that loop is too far behind. */
    private void executeOnOwner(PortOwner owner, ByteBuf packet, Runnable delivery) {
        if (!queueLimit.tryAcquire(1)) {
            statistics.countOwnerQueueFull();
            packet.release();
            return;
        }
        LoopTasks.executeOrElse(owner.loop(), () -> {
            queueLimit.release(1);
            delivery.run();
        }, () -> {
            queueLimit.release(1);
            statistics.unclaimedFrames++;
            packet.release();
        });
    }

    private void reassemble(ByteBuf fragment, ParsedFrame parsed, long now) {
        if (isForeign(IpAddress.destinationOf(parsed))) {
            dropForeign(fragment);
            return;
        }
        nowNanos = now;
        ByteBuf frame;
        try {
            frame = reassembly.add(parsed, now);
        } finally {
            fragment.release();
        }
        if (frame == null) {
            return;
        }
        ParseVerdict verdict = reassembledParser.parse(BufferAddress.of(frame), frame.readableBytes(), false,
                reassembledFrame);
        if (mayBeFragmented(verdict)) {
            dispatch(frame, false, true, reassembledFrame, verdict, now);
        } else {
            reassembly.rejectLast();
            frame.release();
        }
    }

    /**
     * Returns whether a reassembled packet is valid. It must not be a fragment again, and neighbour discovery must not
     * be fragmented (RFC 6980 section 5).
     */
    private boolean mayBeFragmented(ParseVerdict verdict) {
        return verdict.isAccepted() && verdict != ParseVerdict.FRAGMENT && (verdict != ParseVerdict.ICMPV6
                || !NeighborDiscovery.isNeighborDiscovery(IcmpHeader.type(reassembledFrame.transportHeaderAddress())));
    }

    private void onReassemblyExpired(ByteBuf firstFragment) {
        if (reassembledParser.parse(BufferAddress.of(firstFragment), firstFragment.readableBytes(), false,
                reassembledFrame) == ParseVerdict.FRAGMENT) {
            host.onReassemblyExpired(reassembledFrame, nowNanos);
        }
        firstFragment.release();
    }

    /** Drops incomplete packets that have expired. */
    public void poll(long now) {
        nowNanos = now;
        reassembly.expire(now);
    }

    /** Returns when {@link #poll} must be called next, or Long.MAX_VALUE. */
    public long deadlineNanos() {
        return reassembly.deadlineNanos();
    }

    private void deliverError(IcmpError errorOrNull) {
        if (errorOrNull == null) {
            return;
        }
        PortOwner owner = ports.find(errorOrNull.protocol(), errorOrNull.destination(), errorOrNull.destinationPort(),
                errorOrNull.source(), errorOrNull.sourcePort());
        if (owner == null) {
            return;
        }
        if (!queueLimit.tryAcquire(1)) {
            statistics.countOwnerQueueFull();
            return;
        }
        LoopTasks.executeOrElse(owner.loop(), () -> {
            queueLimit.release(1);
            owner.onIcmpError(errorOrNull);
        }, () -> queueLimit.release(1));
    }
}
