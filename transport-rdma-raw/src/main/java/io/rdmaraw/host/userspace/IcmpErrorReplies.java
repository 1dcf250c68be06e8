package io.rdmaraw.host.userspace;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.IcmpHeader;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv6ParameterProblems;
import io.rdmaraw.wire.NeighborDiscovery;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;

import java.util.function.Predicate;
import java.util.random.RandomGenerator;

/**
 * Sends ICMP errors for packets that the host cannot process, within a rate limit, unless RFC 1122 section 3.2.2 or RFC
 * 4443 section 2.4 (e) forbids an error.
 */
final class IcmpErrorReplies {
    private static final int CODE_REASSEMBLY_TIME_EXCEEDED = 1;

    private final ControlFrames frames;
    private final long mac;
    private final Predicate<IpAddress> isOwned;
    private final UserspaceHostCounters counters;
    private final IcmpErrorRateLimiter rateLimiter;

    /** @param isOwned tests whether an address belongs to the host */
    IcmpErrorReplies(ControlFrames frames, long mac, Predicate<IpAddress> isOwned, UserspaceHostCounters counters,
                 RandomGenerator random) {
        this.frames = frames;
        this.mac = mac;
        this.isOwned = isOwned;
        this.counters = counters;
        rateLimiter = new IcmpErrorRateLimiter(random);
    }

    /** Reports a closed port. */
    void sendPortUnreachable(ParsedFrame datagram, long nowNanos) {
        boolean ipv4 = datagram.ipVersion() == 4;
        if (isUnicastToHost(datagram) && send(datagram, IpAddress.destinationOf(datagram),
                ipv4 ? IcmpHeader.UNREACHABLE : IcmpHeader.V6_UNREACHABLE,
                ipv4 ? IcmpHeader.CODE_PORT_UNREACHABLE : IcmpHeader.V6_CODE_PORT_UNREACHABLE, 0, nowNanos)) {
            counters.portsRefused++;
        }
    }

    /** Reports an incomplete packet: its remaining fragments did not arrive (RFC 792, RFC 8200 section 4.5). */
    void sendReassemblyTimeExceeded(ParsedFrame firstFragment, long nowNanos) {
        if (isUnicastToHost(firstFragment) && !carriesError(firstFragment)
                && send(firstFragment, IpAddress.destinationOf(firstFragment),
                firstFragment.ipVersion() == 4 ? IcmpHeader.TIME_EXCEEDED : IcmpHeader.V6_TIME_EXCEEDED,
                CODE_REASSEMBLY_TIME_EXCEEDED, 0, nowNanos)) {
            counters.packetErrors++;
        }
    }

    /**
     * Reports a packet with an unknown protocol or extension header.
     *
     * @param source source address of the error if the packet was sent to a group; null to send none
     */
    void sendUnknownHeaderError(ParsedFrame packet, ParseVerdict verdict, IpAddress source, long nowNanos) {
        boolean unicastToHost = isUnicastToHost(packet);
        if (packet.ipVersion() == 4) {
            if (verdict == ParseVerdict.OTHER_PROTOCOL && unicastToHost
                    && send(packet, IpAddress.destinationOf(packet), IcmpHeader.UNREACHABLE,
                    IcmpHeader.CODE_PROTOCOL_UNREACHABLE, 0, nowNanos)) {
                counters.packetErrors++;
            }
            return;
        }
        int code = Ipv6ParameterProblems.code(packet, verdict);
        // Unknown options are also reported for packets to groups (RFC 4443 section 2.4 (e.3)).
        IpAddress local = unicastToHost ? IpAddress.destinationOf(packet)
                : code == Ipv6ParameterProblems.UNKNOWN_OPTION && IpAddress.destinationOf(packet).isMulticast() ? source
                : null;
        if (code != Ipv6ParameterProblems.NO_ANSWER && local != null
                && send(packet, local, IcmpHeader.V6_PARAMETER_PROBLEM, code,
                Ipv6ParameterProblems.pointer(packet, verdict), nowNanos)) {
            counters.packetErrors++;
        }
    }

    private boolean isUnicastToHost(ParsedFrame packet) {
        return EthernetHeader.destination(packet.frameAddress()) == mac
                && isOwned.test(IpAddress.destinationOf(packet));
    }

    /** Returns whether the packet may be an ICMP error. An error about an error could cause an endless loop. */
    private static boolean carriesError(ParsedFrame firstFragment) {
        if (firstFragment.payloadLengthBytes() == 0) {
            return true;
        }
        int type = IcmpHeader.type(firstFragment.payloadAddress());
        return firstFragment.protocol() == IpProtocol.ICMP && IcmpHeader.isError(type)
                || firstFragment.protocol() == IpProtocol.ICMPV6
                && (IcmpHeader.isErrorV6(type) || type == NeighborDiscovery.REDIRECT);
    }

    private boolean send(ParsedFrame cause, IpAddress local, int type, int code, int word, long nowNanos) {
        IpAddress peer = IpAddress.sourceOf(cause);
        if (peer.isAny() || peer.isMulticast() || peer.isLoopback() || peer.equals(IpAddress.BROADCAST)) {
            return false;
        }
        if (!rateLimiter.tryAcquire(peer, nowNanos)) {
            counters.errorsWithheld++;
            return false;
        }
        frames.sendError(cause, local, type, code, word);
        return true;
    }
}
