package io.rdmaraw.tcp;

/** Decides when to acknowledge: delayed ACKs (RFC 9293 section 3.8.6.3) and challenge ACKs (RFC 5961). */
final class AckPolicy {
    /** Number of immediate ACKs at the start of a connection, which speed up the peer's slow start (as Linux). */
    private static final byte QUICK_ACKS = 16;
    /** Value of {@link Tcb#quickAcks} if the user has disabled delayed ACKs. */
    static final byte ALWAYS_QUICK = -1;
    /**
     * Minimum length that counts as a full-sized segment. Handshake never reduces a connection's MSS below this.
     */
    private static final int MIN_FULL_SEGMENT_BYTES = 48;

    private AckPolicy() {
    }

    static void start(TcpConnection c) {
        c.quickAcks = QUICK_ACKS;
    }

    /** Disables or enables delayed ACKs (TCP_QUICKACK). */
    static void quickAck(TcpConnection c, boolean on) {
        c.quickAcks = on ? ALWAYS_QUICK : 0;
        if (on && c.is(Tcb.ACK_DELAYED)) {
            c.set(Tcb.ACK_NOW);
            c.engine.queueOutput(c);
        }
    }

    /** Handles data that arrived in order. */
    static void onData(TcpConnection c, int length, boolean push, long now) {
        if (now - c.lastReceiveNanos > c.rtoNanos && c.quickAcks != ALWAYS_QUICK) {
            // The peer restarts after an idle period, possibly with a small congestion window.
            c.quickAcks = QUICK_ACKS;
        }
        measureSegments(c, Math.min(length, 0xFFFF), push);
        // RFC 5681 section 4.2: acknowledge at least every second full-sized segment.
        if (c.rcvNxt - c.lastAckSent > c.receiveMss || c.quickAcks != 0) {
            c.set(Tcb.ACK_NOW);
        } else if (!c.is(Tcb.ACK_DELAYED)) {
            c.set(Tcb.ACK_DELAYED);
            c.ackDeadlineNanos = now + c.engine.config.delayedAckNanos;
        }
    }

    /**
     * Estimates the peer's full segment size. It shrinks when the path MTU does: two successive segments of equal
     * length count as full-sized if neither has PSH (Linux: tcp_measure_rcv_mss).
     */
    private static void measureSegments(TcpConnection c, int length, boolean push) {
        if (length >= c.receiveMss || length == c.lastSegmentBytes && !push && length >= MIN_FULL_SEGMENT_BYTES) {
            c.receiveMss = (char) length;
        }
        c.lastSegmentBytes = (char) (push ? 0 : length);
    }

    /**
     * Handles PSH on a run of merged segments. The last of them may be short, so the next one is not compared
     * with it.
     */
    static void onPushAfterMerge(TcpConnection c) {
        c.lastSegmentBytes = 0;
    }

    /** Requests an immediate ACK for a segment that is out of order or unacceptable (RFC 5681 section 4.2). */
    static void ackImmediately(TcpConnection c) {
        c.set(Tcb.ACK_NOW);
    }

    /** Updates the ACK state after a segment with ACK was sent. */
    static void onAckSent(TcpConnection c) {
        if (c.is(Tcb.ACK_DELAYED)) {
            c.ackDeadlineNanos = Tcb.NEVER;
        } else if (c.quickAcks > 0 && c.is(Tcb.ACK_NOW)) {
            c.quickAcks--;
        }
        c.clear(Tcb.ACK_NOW | Tcb.ACK_DELAYED);
        c.lastAckSent = c.rcvNxt;
    }

    /**
     * Answers an unacceptable segment with an ACK (RFC 9293 section 3.10.7.4, RFC 5961). The rate is limited by
     * {@link TcpConfig#challengeAckIntervalNanos}; otherwise two ends that disagree would answer each other for
     * ever (RFC 5961 section 7). The limit applies per connection, so an attacker cannot use it as a side
     * channel.
     */
    static void scheduleChallengeAck(TcpConnection c, long now) {
        TcpEngine engine = c.engine;
        ConnectionExtras extras = c.requireExtras();
        if (extras.lastChallengeNanos != Long.MIN_VALUE
                && now - extras.lastChallengeNanos < engine.config.challengeAckIntervalNanos) {
            return;
        }
        extras.lastChallengeNanos = now;
        engine.counters.challengeAcks++;
        c.set(Tcb.ACK_NOW);
    }

    /**
     * Returns whether a retransmitted SYN is answered with another SYN-ACK. The source address may be forged, so the
     * rate limit of challenge ACKs applies (Linux: tcp_check_req). The first retransmission is always answered. If the
     * result is true, the time is recorded for this limit.
     */
    static boolean acquireSynAckPermit(TcpConnection c, long now) {
        ConnectionExtras extras = c.requireExtras();
        if (extras.lastRetransmittedSynNanos != Long.MIN_VALUE
                && now - extras.lastRetransmittedSynNanos < c.engine.config.challengeAckIntervalNanos) {
            return false;
        }
        extras.lastRetransmittedSynNanos = now;
        return true;
    }
}
