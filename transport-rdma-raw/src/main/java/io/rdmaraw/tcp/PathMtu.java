package io.rdmaraw.tcp;

/** Path MTU discovery (RFC 1191, RFC 8201) with a fallback for paths that drop big packets in silence (RFC 2923). */
final class PathMtu {
    private static final int MIN_IPV6 = 1280;
    /** The smallest plateau of RFC 1191 section 7.1 above the floor of 68, which would carry headers only. */
    private static final int MIN_IPV4 = 296;
    private static final int SAFE_IPV4 = 576;
    /** Timeouts of one segment before its size is suspected, and before even the safe size for most paths is. */
    private static final int BLACK_HOLE_TIMEOUTS = 2;
    private static final int DEEP_BLACK_HOLE_TIMEOUTS = 4;

    private PathMtu() {
    }

    /** No path is taken to carry less. */
    static int least(TcpConnection c) {
        return c.isIpv4() ? MIN_IPV4 : MIN_IPV6;
    }

    /** An ICMP message, checked to be about data in flight, says what the next hop takes; 0 if it doesn't say. */
    static void onPacketTooBig(TcpConnection c, int nextHopMtu, long now) {
        // RFC 1191 section 5: routers of old leave it out; then the next plateau below.
        int told = nextHopMtu == 0 ? plateauBelow(c.mtu) : nextHopMtu;
        // RFC 8201 section 4: never below the minimum MTU of IPv6
        int mtu = Math.max(told, least(c));
        if (mtu < c.mtu) {
            c.engine.counters.pathMtuReductions++;
            reduce(c, mtu, now);
        }
    }

    private static int plateauBelow(int mtu) {
        int[] plateaus = {32000, 17914, 8166, 4352, 2002, 1492, 1006, 508, MIN_IPV4};
        for (int plateau : plateaus) {
            if (plateau < mtu) {
                return plateau;
            }
        }
        return MIN_IPV4;
    }

    private static void reduce(TcpConnection c, int mtu, long now) {
        c.mtu = (char) mtu;
        c.pathMtuExpiryNanos = now + c.engine.config.pathMtuAgeNanos;
        // Before the peer's SYN its MSS is unknown. After it data may be on the way already (RFC 7413 section 4.2).
        if (c.state == TcpState.SYN_SENT) {
            return;
        }
        Handshake.updateSendMss(c);
        // Nothing is repeated during the handshake: what is lost by then is looked at when it is over.
        if (c.flight != null && c.state != TcpState.SYN_RECEIVED) {
            resendTooBig(c);
        }
    }

    /** RFC 1191 section 6.5: what was too big goes again at once, and congestion control has no part in it. */
    static void resendTooBig(TcpConnection c) {
        Scoreboard sb = c.flight.scoreboard;
        for (int entry = sb.head(); entry != sb.tail(); entry++) {
            if (sb.lengthOf(entry) > c.sndMss && !sb.isSacked(entry)) {
                sb.markLost(entry);
            }
        }
        c.engine.ready(c);
    }

    /** The same segment timed out again: perhaps it is too big and ICMP is filtered. */
    static void onTimeout(TcpConnection c, Flight f, long now) {
        f.recovery.oneByOne |= c.unansweredTimeouts >= BLACK_HOLE_TIMEOUTS;
        int next = c.unansweredTimeouts == BLACK_HOLE_TIMEOUTS ? MIN_IPV6
                : c.unansweredTimeouts == DEEP_BLACK_HOLE_TIMEOUTS && c.isIpv4() ? SAFE_IPV4 : c.mtu;
        int packet = f.scoreboard.lengthOf(f.scoreboard.head()) + c.headerBytes() + (c.is(Tcb.TIMESTAMPS) ? 12 : 0);
        if (next < c.mtu && packet > next) {
            c.engine.counters.pathMtuBlackHoles++;
            reduce(c, next, now);
        }
    }

    /** RFC 1191 section 6.3: the path may have changed; try what the link takes. */
    static void raise(TcpConnection c) {
        c.pathMtuExpiryNanos = Tcb.NEVER;
        c.mtu = c.linkMtu;
        Handshake.updateSendMss(c);
    }
}
