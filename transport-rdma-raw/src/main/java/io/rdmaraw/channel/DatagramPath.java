package io.rdmaraw.channel;

import io.rdmaraw.route.IpAddress;
import io.rdmaraw.wire.InternetChecksum;

import java.net.InetSocketAddress;

/**
 * The way from a channel to one destination: what the headers of every datagram to it have in common. Immutable; worth
 * something as long as the network's generation is the same.
 */
final class DatagramPath {
    /** How datagrams get there. */
    enum Kind {
        /** By the device. */
        DEVICE,
        /** By the kernel's socket of the same port. */
        KERNEL,
        /** Nobody has the port. */
        PORT_UNREACHABLE
    }

    private final Kind kind;
    private final long generation;
    private final InetSocketAddress destination;
    private final IpAddress source;
    private final IpAddress target;
    private final int sourcePort;
    private final int targetPort;
    private final long sourceMac;
    private final long targetMac;
    private final long pseudoHeaderSum;

    DatagramPath(Kind kind, long generation, InetSocketAddress destination, IpAddress source, int sourcePort,
                 IpAddress target, int targetPort, long sourceMac, long targetMac) {
        this.kind = kind;
        this.generation = generation;
        this.destination = destination;
        this.source = source;
        this.target = target;
        this.sourcePort = sourcePort;
        this.targetPort = targetPort;
        this.sourceMac = sourceMac;
        this.targetMac = targetMac;
        pseudoHeaderSum = target.isIpv4()
                ? InternetChecksum.pseudoHeaderIpv4(source.ipv4(), target.ipv4(), 0, 0)
                : InternetChecksum.pseudoHeaderIpv6(source.high(), source.low(), target.high(), target.low(), 0, 0);
    }

    Kind kind() {
        return kind;
    }

    long generation() {
        return generation;
    }

    InetSocketAddress destination() {
        return destination;
    }

    boolean isIpv4() {
        return target.isIpv4();
    }

    boolean isMulticast() {
        return target.isMulticast();
    }

    IpAddress source() {
        return source;
    }

    IpAddress target() {
        return target;
    }

    int sourcePort() {
        return sourcePort;
    }

    int targetPort() {
        return targetPort;
    }

    long sourceMac() {
        return sourceMac;
    }

    long targetMac() {
        return targetMac;
    }

    /** Returns the checksum's sum over the addresses; protocol and length are still to be added. */
    long pseudoHeaderSum() {
        return pseudoHeaderSum;
    }
}
