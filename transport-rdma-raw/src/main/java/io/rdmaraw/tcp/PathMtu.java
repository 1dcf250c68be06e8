package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.send.RecoveryState;
import io.rdmaraw.tcp.send.Scoreboard;
import io.rdmaraw.tcp.send.SendState;

/**
 * Path MTU discovery (RFC 1191, RFC 8201), with a fallback for paths that drop large packets without an ICMP
 * message (RFC 2923).
 *
 * <p>Repeated timeouts make such a black hole suspect, but a lossy path looks the same. New data is then sent in
 * small segments, with a few large ones as probes (as in RFC 4821). The first probe that arrives ends the
 * suspicion. The data of a lost probe is retransmitted in small segments.
 */
final class PathMtu {
    private static final int MIN_IPV6_MTU = 1280;
    /**
     * Smallest plateau of RFC 1191 section 7.1 that leaves room for data. The lower one, 68, would hold only
     * headers.
     */
    private static final int MIN_PLATEAU = 296;
    private static final int SAFE_IPV4_MTU = 576;
    /** Number of timeouts of one segment after which small retransmissions are no longer merged. */
    private static final int ONE_BY_ONE_TIMEOUTS = 2;
    /** Number of further timeouts after which a black hole is suspected even at 1280 bytes. */
    private static final int DEEP_BLACK_HOLE_TIMEOUTS = 2;
    /** RFC 8899 section 5.1.2, MAX_PROBES. */
    private static final byte MAX_PROBES = 3;
    /** Value of {@link ConnectionExtras#mtuProbesLeft} when no black hole is suspected. */
    static final byte TRUSTED = -1;

    private PathMtu() {
    }

    /** Returns the minimum path MTU that is accepted, in bytes. */
    static int minMtuBytes(TcpConnection c) {
        return c.isIpv4() ? c.engine.config.minPathMtuBytes : MIN_IPV6_MTU;
    }

    /**
     * Handles an ICMP "packet too big" message. The caller has checked that it quotes data in flight. If an attacker
     * guessed a sequence number in flight, the whole flight would be resent in small segments. A message that
     * contradicts delivered segments is therefore deferred until the quoted segment times out. It is discarded when
     * that segment is acknowledged (RFC 5927 section 7.2).
     *
     * @param seq        first sequence number of the quoted segment
     * @param nextHopMtu unsigned; 0 if the message does not contain it
     */
    static void onPacketTooBig(TcpConnection c, int seq, int nextHopMtu, long now) {
        if (nextHopMtu < 0 || !c.isIpv4() && nextHopMtu < MIN_IPV6_MTU) {
            // RFC 8201 section 4: an MTU below the IPv6 minimum must be ignored. Values of 2 GiB and more are
            // invalid.
            c.engine.counters.icmpIgnored++;
            return;
        }
        // RFC 1191 section 5: old routers leave the MTU out. The next lower plateau is used then.
        int reported = nextHopMtu == 0 ? plateauBelow(c.mtu) : nextHopMtu;
        int mtu = Math.max(reported, minMtuBytes(c));
        if (mtu >= c.mtu) {
            return;
        }
        if (c.largestDeliveredBytes == 0 || mtu >= c.largestDeliveredBytes + optionsAndHeaderBytes(c)) {
            accept(c, mtu, now);
            return;
        }
        c.engine.counters.pathMtuReductionsDeferred++;
        ConnectionExtras extras = c.requireExtras();
        boolean first = extras.pendingMtu == 0;
        extras.pendingMtuSeq = first ? seq : Sequence.min(extras.pendingMtuSeq, seq);
        extras.pendingMtu = (char) (first ? mtu : Math.min(extras.pendingMtu, mtu));
    }

    private static void accept(TcpConnection c, int mtu, long now) {
        c.engine.counters.pathMtuReductions++;
        c.requireExtras().mtuProbesLeft = TRUSTED;
        reduce(c, mtu, now);
    }

    private static int optionsAndHeaderBytes(TcpConnection c) {
        return c.headerBytes() + (c.is(Tcb.TIMESTAMPS) ? 12 : 0);
    }

    /**
     * Discards a deferred ICMP message when the data it quotes is acknowledged. The message was wrong, or the
     * path has changed again.
     */
    static void onProgress(TcpConnection c) {
        if (Sequence.after(c.sndUna, c.extras.pendingMtuSeq)) {
            c.extras.pendingMtu = 0;
        }
    }

    private static int plateauBelow(int mtu) {
        int[] plateaus = {32000, 17914, 8166, 4352, 2002, 1492, 1006, 508, MIN_PLATEAU};
        for (int plateau : plateaus) {
            if (plateau < mtu) {
                return plateau;
            }
        }
        return MIN_PLATEAU;
    }

    static void reduce(TcpConnection c, int mtu, long now) {
        c.mtu = (char) mtu;
        c.requireExtras().pathMtuExpiryNanos = now + c.engine.config.pathMtuLifetimeNanos;
        // The peer's MSS is unknown before its SYN. After the SYN, data may be in flight already (RFC 7413
        // section 4.2).
        if (c.state == TcpState.SYN_SENT) {
            return;
        }
        Handshake.updateSendMss(c);
        c.largestDeliveredBytes = (char) Math.min(c.largestDeliveredBytes, c.sndMss);
        // During the handshake nothing is retransmitted; lost data is handled when the handshake is complete.
        if (c.sendState != null && c.state != TcpState.SYN_RECEIVED) {
            resendTooBig(c);
        }
    }

    /**
     * Retransmits segments that exceed the new MSS at once, without a congestion response (RFC 1191 section 6.5).
     */
    static void resendTooBig(TcpConnection c) {
        Scoreboard sb = c.sendState.scoreboard;
        for (int entry = sb.head(); entry != sb.tail(); entry++) {
            if (sb.lengthOf(entry) > c.sndMss && !sb.isSacked(entry)) {
                sb.markLost(entry);
            }
        }
        sb.splitLost(c.sndMss);
        c.engine.queueOutput(c);
    }

    /**
     * Handles a retransmission timeout. If the same segment times out repeatedly, it may be too large and ICMP
     * may be filtered.
     */
    static void onTimeout(TcpConnection c, SendState f, long now) {
        if (c.extras != null && c.extras.pendingMtu != 0) {
            int reported = c.extras.pendingMtu;
            c.extras.pendingMtu = 0;
            if (reported < c.mtu) {
                accept(c, reported, now);
                return;
            }
        }
        f.recovery.oneByOne |= c.unansweredTimeouts >= ONE_BY_ONE_TIMEOUTS;
        int blackHoleTimeouts = c.engine.config.blackHoleTimeouts;
        if (blackHoleTimeouts == 0) {
            return;
        }
        int next = c.unansweredTimeouts == blackHoleTimeouts ? MIN_IPV6_MTU
                : c.unansweredTimeouts == blackHoleTimeouts + DEEP_BLACK_HOLE_TIMEOUTS && c.isIpv4() ? SAFE_IPV4_MTU
                : c.mtu;
        int packet = f.scoreboard.lengthOf(f.scoreboard.head()) + optionsAndHeaderBytes(c);
        if (next < c.mtu && packet > next) {
            c.engine.counters.pathMtuBlackHoles++;
            c.requireExtras().mtuProbesLeft = MAX_PROBES;
            c.extras.mtuProbeEnd = c.sndUna;
            reduce(c, next, now);
        }
    }

    /**
     * Returns whether the next new segment should be a probe, as large as the link allows. Loss recovery must be
     * complete (RFC 4821 section 7.4), including the RTO backoff. Otherwise a lost probe would cost a timeout of
     * up to minutes and would leave no RTT sample that ends the backoff.
     */
    static boolean isProbeDue(TcpConnection c, SendState f) {
        return c.extras != null && c.extras.mtuProbesLeft > 0 && c.backoff == 0
                && f.recovery.phase == RecoveryState.Phase.OPEN
                && Sequence.afterOrAt(c.sndUna, c.extras.mtuProbeEnd);
    }

    /**
     * Records a probe. After the last probe the reduced MTU is kept for the full age again (RFC 8899 section
     * 5.1.1).
     */
    static void onProbeSent(TcpConnection c, long now) {
        c.extras.mtuProbesLeft--;
        c.extras.mtuProbeEnd = c.sndNxt;
        c.extras.pathMtuExpiryNanos = now + c.engine.config.pathMtuLifetimeNanos;
    }

    /**
     * Handles the delivery of a segment above the present MSS on its first transmission. If a black hole was
     * suspected, the suspicion was wrong.
     */
    static void onLargeDelivered(TcpConnection c) {
        if (c.extras != null && c.extras.mtuProbesLeft != TRUSTED) {
            c.engine.counters.pathMtuFalseAlarms++;
            raise(c);
        }
    }

    /** Handles the expiry of a reduced path MTU. */
    static void onExpiry(TcpConnection c, long now) {
        if (c.extras.mtuProbesLeft == TRUSTED) {
            raise(c);
        } else {
            c.extras.mtuProbesLeft = MAX_PROBES;
            c.extras.pathMtuExpiryNanos = now + c.engine.config.pathMtuLifetimeNanos;
        }
    }

    /** Restores the link MTU, as the path may have changed (RFC 1191 section 6.3). */
    private static void raise(TcpConnection c) {
        c.extras.mtuProbesLeft = TRUSTED;
        c.extras.pathMtuExpiryNanos = Tcb.NEVER;
        c.mtu = c.linkMtu;
        Handshake.updateSendMss(c);
    }
}
