package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
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
        OwnPort find(int protocol, IpAddress source, int sourcePort, IpAddress destination, int destinationPort);
    }

    private final OwnHost host;
    private final Ports ports;
    private final DatagramLoop datagrams;
    private final DatagramFragments fragments;
    private final Runnable unclaimed;

    /** @param unclaimed counts a packet that nobody wants */
    OwnHostReceiver(OwnHost host, Ports ports, DatagramLoop datagrams, DatagramFragments fragments,
                    Runnable unclaimed) {
        this.host = host;
        this.ports = ports;
        this.datagrams = datagrams;
        this.fragments = fragments;
        this.unclaimed = unclaimed;
    }

    /** Gives back what waits for its missing parts. */
    void close() {
        fragments.close();
    }

    /** Takes a frame and its reference. */
    void receive(ByteBuf frame, boolean checksumVerified, long now) {
        ParseVerdict verdict = datagrams.parse(frame, checksumVerified);
        ParsedFrame parsed = datagrams.parsed();
        if (!verdict.isAccepted() || host.receive(parsed, verdict, now)) {
            frame.release();
            return;
        }
        switch (verdict) {
            case UDP, TCP -> handOver(frame, checksumVerified, parsed, verdict, now);
            case FRAGMENT -> reassemble(frame, parsed, now);
            case ICMP, ICMPV6 -> {
                passOn(datagrams.icmpErrors().read(parsed));
                frame.release();
            }
            default -> {
                unclaimed.run();
                frame.release();
            }
        }
    }

    /** No rule has brought the frame to its channel: the device's table is full, or there is no such port. */
    private void handOver(ByteBuf frame, boolean checksumVerified, ParsedFrame parsed, ParseVerdict verdict,
                          long now) {
        OwnPort owner = ports.find(parsed.protocol(), IpAddress.sourceOf(parsed), parsed.sourcePort(),
                IpAddress.destinationOf(parsed), parsed.destinationPort());
        if (owner == null) {
            unclaimed.run();
            if (verdict == ParseVerdict.UDP) {
                host.refuse(parsed, now);
            }
            frame.release();
        } else {
            OwnNetworkHost.execute(owner.loop(), () -> owner.receiveUnsteered(frame, checksumVerified),
                    () -> drop(frame));
        }
    }

    private void reassemble(ByteBuf frame, ParsedFrame parsed, long now) {
        ByteBuf datagram = fragments.add(parsed, frame, now);
        frame.release();
        if (datagram == null) {
            return;
        }
        IpAddress source = fragments.source();
        IpAddress destination = fragments.destination();
        OwnPort owner = ports.find(parsed.protocol(), source, datagram.getUnsignedShort(0), destination,
                datagram.getUnsignedShort(2));
        if (owner == null || datagram.readableBytes() < UdpHeader.LENGTH_BYTES) {
            unclaimed.run();
            datagram.release();
        } else {
            OwnNetworkHost.execute(owner.loop(), () -> owner.receiveReassembled(datagram, source, destination),
                    () -> drop(datagram));
        }
    }

    private void drop(ByteBuf packet) {
        unclaimed.run();
        packet.release();
    }

    private void passOn(IcmpError errorOrNull) {
        if (errorOrNull == null) {
            return;
        }
        OwnPort owner = ports.find(errorOrNull.protocol(), errorOrNull.destination(), errorOrNull.destinationPort(),
                errorOrNull.source(), errorOrNull.sourcePort());
        if (owner != null) {
            OwnNetworkHost.execute(owner.loop(), () -> owner.icmpError(errorOrNull), () -> { });
        }
    }
}
