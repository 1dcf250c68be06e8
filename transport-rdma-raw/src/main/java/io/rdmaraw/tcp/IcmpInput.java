package io.rdmaraw.tcp;

import io.rdmaraw.wire.IcmpErrorKind;

/** What ICMP may do to a connection (RFC 5927, RFC 5461); the quoted number has been checked already. */
final class IcmpInput {
    private IcmpInput() {
    }

    static void process(TcpConnection c, IcmpErrorKind error, int seq, int mtu, long now) {
        if (error == IcmpErrorKind.PACKET_TOO_BIG) {
            PathMtu.onPacketTooBig(c, seq, mtu, now);
            return;
        }
        // RFC 5927 section 5.2: once synchronized, every error is soft; the timeouts decide.
        if (c.state != TcpState.SYN_SENT) {
            c.engine.events.softError(c, error);
            return;
        }
        // RFC 5461 section 4.1: an open that meets an error fails now rather than in two minutes.
        switch (error) {
            case PORT_UNREACHABLE, PROTOCOL_UNREACHABLE ->
                c.engine.finish(c, CloseReason.REFUSED, TcpState.CLOSED);
            case HOST_UNREACHABLE, PROHIBITED -> c.engine.finish(c, CloseReason.UNREACHABLE, TcpState.CLOSED);
            default -> c.engine.events.softError(c, error);
        }
    }
}
