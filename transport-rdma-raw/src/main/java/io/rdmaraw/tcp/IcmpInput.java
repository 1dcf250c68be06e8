package io.rdmaraw.tcp;

import io.rdmaraw.wire.IcmpErrorKind;

/** Applies ICMP errors to a connection (RFC 5927, RFC 5461). The caller has verified the quoted sequence number. */
final class IcmpInput {
    private IcmpInput() {
    }

    static void process(TcpConnection c, IcmpErrorKind error, int seq, int mtu, long now) {
        if (error == IcmpErrorKind.PACKET_TOO_BIG) {
            PathMtu.onPacketTooBig(c, seq, mtu, now);
            return;
        }
        // RFC 5927 section 5.2: in synchronized states every error is soft; only timeouts end the connection.
        if (c.state != TcpState.SYN_SENT) {
            c.engine.events.softError(c, error);
            return;
        }
        // RFC 5461 section 4.1: an ICMP error fails a connection attempt at once instead of after two minutes.
        switch (error) {
            case PORT_UNREACHABLE, PROTOCOL_UNREACHABLE ->
                c.engine.finish(c, CloseReason.REFUSED, TcpState.CLOSED);
            case HOST_UNREACHABLE, PROHIBITED -> c.engine.finish(c, CloseReason.UNREACHABLE, TcpState.CLOSED);
            default -> c.engine.events.softError(c, error);
        }
    }
}
