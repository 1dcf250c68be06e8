package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.host.HostView;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.route.IcmpError;
import io.rdmaraw.route.IpAddress;
import io.rdmaraw.route.OwnHost;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import io.rdmaraw.wire.UdpHeader;

/**
 * Sorts the frames that come to a host of our own: what is for the host itself, what is for one of its ports though no
 * rule brought it there, and what nobody wants. For the loop that drives the host.
 */
final class OwnHostReceiver {
    /** Knows whose a port is. */
    interface Ports {
        /** Returns the owner of the port that a packet is for, or null. */
        PortOwner find(int protocol, IpAddress source, int sourcePort, IpAddress destination, int destinationPort);
    }

    private final OwnHost host;
    private final Ports ports;
    private final HostView hostView;
    private final DatagramFragments fragments;
    private final OwnHostStatistics statistics;
    private final HandOverLimit limit = new HandOverLimit();

    OwnHostReceiver(OwnHost host, Ports ports, HostView hostView, DatagramFragments fragments,
                    OwnHostStatistics statistics) {
        this.host = host;
        this.ports = ports;
        this.hostView = hostView;
        this.fragments = fragments;
        this.statistics = statistics;
    }

    /** Gives back what waits for its missing parts. */
    void close() {
        fragments.close();
    }

    /** Takes a frame and its reference. */
    void receive(ByteBuf frame, boolean checksumVerified, long now) {
        ParseVerdict verdict = hostView.parse(frame, checksumVerified);
        ParsedFrame parsed = hostView.parsed();
        if (!verdict.isAccepted() || host.receive(parsed, verdict, now)) {
            frame.release();
            return;
        }
        switch (verdict) {
            case UDP, TCP -> handOver(frame, checksumVerified, parsed, verdict, now);
            case FRAGMENT -> reassemble(frame, parsed, now);
            case ICMP, ICMPV6 -> {
                passOn(hostView.icmpErrors().read(parsed));
                frame.release();
            }
            default -> {
                statistics.unclaimedFrames++;
                frame.release();
            }
        }
    }

    /** No rule has brought the frame to its channel: the device's table is full, or there is no such port. */
    private void handOver(ByteBuf frame, boolean checksumVerified, ParsedFrame parsed, ParseVerdict verdict,
                          long now) {
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
        } else {
            pass(owner, frame, () -> owner.receiveUnsteered(frame, checksumVerified));
        }
    }

    /**
     * Tells whether a unicast address is somebody else's: what comes for it is neither taken nor refused (RFC 1122
     * section 3.2.1.3).
     */
    private boolean isForeign(IpAddress destination) {
        return !destination.isMulticast() && !host.addresses().contains(destination);
    }

    private void dropForeign(ByteBuf packet) {
        statistics.foreignPackets++;
        packet.release();
    }

    /** Has a packet taken on the loop of its owner. */
    private void pass(PortOwner owner, ByteBuf packet, Runnable taking) {
        if (!limit.take(1)) {
            statistics.countOwnerBehind();
            packet.release();
            return;
        }
        OwnNetworkHost.execute(owner.loop(), () -> {
            limit.giveBack(1);
            taking.run();
        }, () -> {
            limit.giveBack(1);
            statistics.unclaimedFrames++;
            packet.release();
        });
    }

    private void reassemble(ByteBuf frame, ParsedFrame parsed, long now) {
        ByteBuf datagram = fragments.add(parsed, frame, now);
        frame.release();
        if (datagram == null) {
            return;
        }
        IpAddress source = fragments.source();
        IpAddress destination = fragments.destination();
        if (isForeign(destination)) {
            dropForeign(datagram);
            return;
        }
        PortOwner owner = ports.find(parsed.protocol(), source, datagram.getUnsignedShort(0), destination,
                datagram.getUnsignedShort(2));
        if (owner == null || datagram.readableBytes() < UdpHeader.LENGTH_BYTES) {
            statistics.unclaimedFrames++;
            datagram.release();
        } else {
            pass(owner, datagram, () -> owner.receiveReassembled(datagram, source, destination));
        }
    }

    private void passOn(IcmpError errorOrNull) {
        if (errorOrNull == null) {
            return;
        }
        PortOwner owner = ports.find(errorOrNull.protocol(), errorOrNull.destination(), errorOrNull.destinationPort(),
                errorOrNull.source(), errorOrNull.sourcePort());
        if (owner == null) {
            return;
        }
        if (!limit.take(1)) {
            statistics.countOwnerBehind();
            return;
        }
        OwnNetworkHost.execute(owner.loop(), () -> {
            limit.giveBack(1);
            owner.icmpError(errorOrNull);
        }, () -> limit.giveBack(1));
    }
}
