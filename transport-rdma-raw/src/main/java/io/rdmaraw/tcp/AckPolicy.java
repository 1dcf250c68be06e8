package io.rdmaraw.tcp;

/** When to acknowledge: delayed acknowledgements (RFC 9293 section 3.8.6.3) and challenge ACKs (RFC 5961). */
final class AckPolicy {
    /** Acknowledged at once when a connection begins, so that the peer's slow start gets going; as Linux does. */
    private static final byte QUICK_ACKS = 16;
    /** The user wants no acknowledgement delayed. */
    static final byte ALWAYS_QUICK = -1;
    /** Smaller ones are no sign of a path's MTU: what a connection never sends below itself (Handshake). */
    private static final int LEAST_FULL_SEGMENT_BYTES = 48;

    private AckPolicy() {
    }

    static void start(TcpConnection c) {
        c.quickAcks = QUICK_ACKS;
    }

    /** The user says whether acknowledgements are delayed (TCP_QUICKACK). */
    static void quickAck(TcpConnection c, boolean on) {
        c.quickAcks = on ? ALWAYS_QUICK : 0;
        if (on && c.is(Tcb.ACK_DELAYED)) {
            c.set(Tcb.ACK_NOW);
            c.engine.ready(c);
        }
    }

    /** Data has arrived in order. */
    static void onData(TcpConnection c, int length, boolean push, long now) {
        if (now - c.lastReceiveNanos > c.rtoNanos && c.quickAcks != ALWAYS_QUICK) {
            // The peer starts again after a pause, perhaps from a small window.
            c.quickAcks = QUICK_ACKS;
        }
        measureSegments(c, Math.min(length, 0xFFFF), push);
        // RFC 5681 section 4.2: at least for every second full-sized segment
        if (c.rcvNxt - c.lastAckSent > c.receiveMss || c.quickAcks != 0) {
            c.set(Tcb.ACK_NOW);
        } else if (!c.is(Tcb.ACK_DELAYED)) {
            c.set(Tcb.ACK_DELAYED);
            c.ackDeadlineNanos = now + c.engine.config.delayedAckNanos;
        }
    }

    /**
     * What a full-sized segment of the peer is. It falls when the path's MTU does: two of the same length one after the
     * other, which do not end what the peer had to send, are full (Linux: tcp_measure_rcv_mss).
     */
    private static void measureSegments(TcpConnection c, int length, boolean push) {
        if (length >= c.receiveMss || length == c.lastSegmentBytes && !push && length >= LEAST_FULL_SEGMENT_BYTES) {
            c.receiveMss = (char) length;
        }
        c.lastSegmentBytes = (char) (push ? 0 : length);
    }

    /** The last of several segments, which may be a short one, ends what the peer had to send. */
    static void onPushAfterRun(TcpConnection c) {
        c.lastSegmentBytes = 0;
    }

    /** Something is out of order or wrong: the peer should know at once (RFC 5681 section 4.2). */
    static void onDisorder(TcpConnection c) {
        c.set(Tcb.ACK_NOW);
    }

    /** A segment that acknowledges goes out. */
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
     * Answers a segment that does not fit with an acknowledgement, as RFC 9293 section 3.10.7.4 and RFC 5961 want it,
     * but not more often than the configuration allows (RFC 5961 section 7): two ends that disagree must not answer
     * each other for ever. The limit is per connection, so that it tells an outsider nothing.
     */
    static void challenge(TcpConnection c, long now) {
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
}
