package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.send.Flight;
import io.rdmaraw.tcp.send.RecoveryState;
import io.rdmaraw.tcp.send.Scoreboard;

/**
 * Path MTU discovery (RFC 1191, RFC 8201) with a fallback for paths that drop big packets in silence (RFC 2923).
 *
 * <p>Timeouts make such a path suspect, but a path that just loses much looks the same. So while new data goes out in
 * small segments, a few large ones try the path, as the probes of RFC 4821 do: the first that arrives ends the
 * suspicion. One that is lost is repeated in small ones.
 */
final class PathMtu {
    private static final int MIN_IPV6 = 1280;
    /** The smallest plateau of RFC 1191 section 7.1 above the floor of 68, which would carry headers only. */
    private static final int LEAST_PLATEAU = 296;
    private static final int SAFE_IPV4 = 576;
    /** Timeouts of one segment before small ones that are repeated are not put together any more. */
    private static final int ONE_BY_ONE_TIMEOUTS = 2;
    /** So many more timeouts, and even the safe size for most paths is suspected. */
    private static final int DEEP_BLACK_HOLE_TIMEOUTS = 2;
    /** RFC 8899 section 5.1.2, MAX_PROBES. */
    private static final byte MAX_PROBES = 3;
    /** No black hole is suspected. */
    static final byte TRUSTED = -1;

    private PathMtu() {
    }

    /** No path is taken to carry less. */
    static int least(TcpConnection c) {
        return c.isIpv4() ? c.engine.config.minPathMtuBytes : MIN_IPV6;
    }

    /**
     * An ICMP message, checked to be about data in flight, says what the next hop takes; 0 if it doesn't say. Who has
     * guessed a number in flight could make all of it go out again in small pieces. So a message that contradicts what
     * has arrived waits until the segment that it quotes has timed out, and is forgotten when that arrives (RFC 5927
     * section 7.2).
     *
     * @param seq        the first number of the quoted segment
     * @param nextHopMtu unsigned
     */
    static void onPacketTooBig(TcpConnection c, int seq, int nextHopMtu, long now) {
        if (nextHopMtu < 0 || !c.isIpv4() && nextHopMtu < MIN_IPV6) {
            // RFC 8201 section 4: what says less than the minimum MTU of IPv6 must be discarded. No hop takes 2 GiB.
            c.engine.counters.icmpIgnored++;
            return;
        }
        // RFC 1191 section 5: routers of old leave it out; then the next plateau below.
        int told = nextHopMtu == 0 ? plateauBelow(c.mtu) : nextHopMtu;
        int mtu = Math.max(told, least(c));
        if (mtu >= c.mtu) {
            return;
        }
        if (c.largestDelivered == 0 || mtu >= c.largestDelivered + optionsAndHeaderBytes(c)) {
            believe(c, mtu, now);
            return;
        }
        c.engine.counters.pathMtuReductionsDelayed++;
        ConnectionExtras extras = c.requireExtras();
        boolean first = extras.pendingMtu == 0;
        extras.pendingMtuSeq = first ? seq : Sequence.min(extras.pendingMtuSeq, seq);
        extras.pendingMtu = (char) (first ? mtu : Math.min(extras.pendingMtu, mtu));
    }

    private static void believe(TcpConnection c, int mtu, long now) {
        c.engine.counters.pathMtuReductions++;
        c.requireExtras().mtuProbesLeft = TRUSTED;
        reduce(c, mtu, now);
    }

    private static int optionsAndHeaderBytes(TcpConnection c) {
        return c.headerBytes() + (c.is(Tcb.TIMESTAMPS) ? 12 : 0);
    }

    /**
     * SND.UNA has advanced while a message waits: one about what has arrived meanwhile was wrong, or the path has
     * changed again.
     */
    static void onProgress(TcpConnection c) {
        if (Sequence.after(c.sndUna, c.extras.pendingMtuSeq)) {
            c.extras.pendingMtu = 0;
        }
    }

    private static int plateauBelow(int mtu) {
        int[] plateaus = {32000, 17914, 8166, 4352, 2002, 1492, 1006, 508, LEAST_PLATEAU};
        for (int plateau : plateaus) {
            if (plateau < mtu) {
                return plateau;
            }
        }
        return LEAST_PLATEAU;
    }

    static void reduce(TcpConnection c, int mtu, long now) {
        c.mtu = (char) mtu;
        c.requireExtras().pathMtuExpiryNanos = now + c.engine.config.pathMtuAgeNanos;
        // Before the peer's SYN its MSS is unknown. After it data may be on the way already (RFC 7413 section 4.2).
        if (c.state == TcpState.SYN_SENT) {
            return;
        }
        Handshake.updateSendMss(c);
        c.largestDelivered = (char) Math.min(c.largestDelivered, c.sndMss);
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
        sb.cutLost(c.sndMss);
        c.engine.ready(c);
    }

    /** The same segment timed out again: perhaps it is too big and ICMP is filtered. */
    static void onTimeout(TcpConnection c, Flight f, long now) {
        if (c.extras != null && c.extras.pendingMtu != 0) {
            int told = c.extras.pendingMtu;
            c.extras.pendingMtu = 0;
            if (told < c.mtu) {
                believe(c, told, now);
                return;
            }
        }
        f.recovery.oneByOne |= c.unansweredTimeouts >= ONE_BY_ONE_TIMEOUTS;
        int suspicious = c.engine.config.blackHoleTimeouts;
        if (suspicious == 0) {
            return;
        }
        int next = c.unansweredTimeouts == suspicious ? MIN_IPV6
                : c.unansweredTimeouts == suspicious + DEEP_BLACK_HOLE_TIMEOUTS && c.isIpv4() ? SAFE_IPV4 : c.mtu;
        int packet = f.scoreboard.lengthOf(f.scoreboard.head()) + optionsAndHeaderBytes(c);
        if (next < c.mtu && packet > next) {
            c.engine.counters.pathMtuBlackHoles++;
            c.requireExtras().mtuProbesLeft = MAX_PROBES;
            c.extras.mtuProbeEnd = c.sndUna;
            reduce(c, next, now);
        }
    }

    /**
     * Returns whether the next segment of new data should be as large as the link takes. Losses must be over (RFC 4821
     * section 7.4). While the timeout is backed off they are not: a probe that is lost then costs a timeout of up to
     * minutes, and leaves no measurement that ends the backoff.
     */
    static boolean isProbeDue(TcpConnection c, Flight f) {
        return c.extras != null && c.extras.mtuProbesLeft > 0 && c.backoff == 0
                && f.recovery.phase == RecoveryState.Phase.OPEN
                && Sequence.afterOrAt(c.sndUna, c.extras.mtuProbeEnd);
    }

    /** After the last probe the path is believed for as long as after the first suspicion (RFC 8899 section 5.1.1). */
    static void onProbeSent(TcpConnection c, long now) {
        c.extras.mtuProbesLeft--;
        c.extras.mtuProbeEnd = c.sndNxt;
        c.extras.pathMtuExpiryNanos = now + c.engine.config.pathMtuAgeNanos;
    }

    /** A segment that was larger than those are now has arrived when it was sent first. */
    static void onLargeDelivered(TcpConnection c) {
        if (c.extras != null && c.extras.mtuProbesLeft != TRUSTED) {
            c.engine.counters.pathMtuFalseAlarms++;
            raise(c);
        }
    }

    /** A smaller MTU has been believed long enough. */
    static void onExpiry(TcpConnection c, long now) {
        if (c.extras.mtuProbesLeft == TRUSTED) {
            raise(c);
        } else {
            c.extras.mtuProbesLeft = MAX_PROBES;
            c.extras.pathMtuExpiryNanos = now + c.engine.config.pathMtuAgeNanos;
        }
    }

    /** RFC 1191 section 6.3: the path may have changed; try what the link takes. */
    private static void raise(TcpConnection c) {
        c.extras.mtuProbesLeft = TRUSTED;
        c.extras.pathMtuExpiryNanos = Tcb.NEVER;
        c.mtu = c.linkMtu;
        Handshake.updateSendMss(c);
    }
}
