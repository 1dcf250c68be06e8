package io.rdmaraw.tcp;

import static io.rdmaraw.tcp.TcpState.*;

import io.rdmaraw.tcp.Tcb.RetransmitTimer;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;

/** Opening: SYN-SENT, SYN-RECEIVED and what the SYNs negotiate (RFC 9293 section 3.10.7.2 to 3.10.7.4). */
final class Handshake {
    /** RFC 9293 section 3.7.1: what a peer without the option takes. */
    private static final int DEFAULT_MSS_IPV4 = 536;
    private static final int DEFAULT_MSS_IPV6 = 1220;
    /** RFC 7323 section 2.3 */
    private static final int MAX_WINDOW_SHIFT = 14;
    private static final int TIMESTAMPS_OPTION_BYTES = 12;
    /** RFC 6298 section 5.7 */
    private static final long RTO_AFTER_LOST_SYN_NANOS = 3_000_000_000L;

    private Handshake() {
    }

    /** What both kinds of open have in common. */
    static void prepare(TcpConnection c, int iss, int mtu) {
        TcpConfig config = c.engine.config;
        c.iss = iss;
        c.sndUna = iss;
        c.sndNxt = iss;
        c.ecnEndSeq = iss;
        c.rackForwardAck = iss;
        c.userTimeoutMillis = (int) (config.userTimeoutNanos / 1_000_000);
        c.stalledSinceNanos = c.engine.now();
        c.linkMtu = (char) mtu;
        c.mtu = (char) mtu;
        c.receiveBufferBytes = config.receiveBufferBytes;
        c.maxReceiveBufferBytes = config.largestReceiveBufferBytes();
        c.tuningStampNanos = c.engine.now();
        DeliveryRate.use(c, config.congestionControl.create());
        c.assign(Tcb.NO_DELAY, config.noDelay);
        c.peerMss = (char) (c.isIpv4() ? DEFAULT_MSS_IPV4 : DEFAULT_MSS_IPV6);
        c.receiveMss = (char) Math.min(c.peerMss, mtu - c.headerBytes());
        c.timestampOffset = c.engine.initialSequence.timestampOffset(c.localHigh, c.localLow, c.remoteHigh,
                c.remoteLow);
        RttEstimator.start(c);
        AckPolicy.start(c);
    }

    // ---- active open ----

    static void connect(TcpConnection c, long now) {
        c.state = SYN_SENT;
        c.set(Tcb.SYN_DUE);
        c.lastReceiveNanos = now;
        c.engine.openPace.open(c, now);
    }

    /** Sends SYN, or SYN-ACK in SYN-RECEIVED, for the first time or again. */
    static boolean sendSyn(TcpConnection c, long now, Segment out) {
        TcpConfig config = c.engine.config;
        boolean answer = c.state == SYN_RECEIVED;
        c.clear(Tcb.SYN_DUE | Tcb.ACK_NOW | Tcb.ACK_DELAYED);
        c.ackDeadlineNanos = Tcb.NEVER;
        SegmentOutput.address(c, out);
        out.seq = c.iss;
        out.flags = answer ? TcpFlags.SYN | TcpFlags.ACK : TcpFlags.SYN;
        out.ack = answer ? c.rcvNxt : 0;
        if (!answer) {
            c.rcvAdv = c.rcvNxt;
        }
        out.window = ReceiveWindow.advertise(c, true);
        // RFC 6691: the MTU less the fixed headers, whatever options there are
        out.mss = Math.min(c.linkMtu - c.headerBytes(), c.maxSegmentBytes());
        // On a passive open only what the peer has offered (RFC 7323 sections 2.2, 3.2; RFC 2018 section 2)
        if (answer ? c.is(Tcb.WINDOW_SCALING) : config.windowScaling) {
            c.rcvWndShift = (byte) ReceiveWindow.shiftFor(c.maxReceiveBufferBytes);
            out.windowScale = c.rcvWndShift;
        }
        out.sackPermitted = answer ? c.is(Tcb.SACK) : config.sack;
        if (answer ? c.is(Tcb.TIMESTAMPS) : config.timestamps) {
            out.timestamps(c.timestamp(now), c.tsRecent);
        }
        if (answer && c.is(Tcb.FAST_OPEN)) {
            c.engine.fastOpen.giveCookie(c, out);
        } else if (c.is(Tcb.FAST_OPEN) && c.sndNxt == c.iss) {
            c.engine.fastOpen.offer(c, out, now);
            attachData(c, out);
        }
        out.flags |= Ecn.setupFlags(c, answer);
        if (c.sndNxt == c.iss) {
            c.sndNxt = c.iss + 1;
        } else {
            c.set(Tcb.SYN_RETRANSMITTED);
            c.engine.counters.retransmittedSegments++;
            c.retransmittedSegments++;
        }
        c.lastAckSent = c.rcvNxt;
        c.lastSendNanos = now;
        if (c.retransmitTimer == RetransmitTimer.NONE) {
            c.setRetransmitTimer(RetransmitTimer.SYN, now + RttEstimator.backedOff(c));
        }
        return true;
    }

    /** RFC 7413 section 4.2.1 step 2: data goes with the SYN only beside a cookie. */
    private static void attachData(TcpConnection c, Segment out) {
        int limit = Math.min(Math.min(c.peerMss, c.mtu - c.headerBytes()), c.maxSegmentBytes())
                - out.optionsLengthBytes();
        int length = Math.min(c.queuedBytes(), limit);
        if (out.fastOpenCookieBytes > 0 && length > 0) {
            c.fastOpenBytes = (char) c.flight.queue.slice(c.iss + 1, length, c.engine.config.maxSlices, out);
            c.engine.counters.payloadBytesOut += c.fastOpenBytes;
        }
    }

    /**
     * The SYN is acknowledged, perhaps with data that went with it (RFC 7413 section 4.2.1 step 3). What was not
     * acknowledged is new data still.
     */
    private static void onSynAcknowledged(TcpConnection c, Segment s, long now) {
        int dataBytes = s.ack - (c.iss + 1);
        c.sndUna = s.ack;
        if (c.fastOpenBytes > 0 && c.is(Tcb.SYN_RETRANSMITTED) && dataBytes == 0) {
            c.engine.fastOpen.block(c, now);
        }
        if (dataBytes > 0) {
            c.engine.counters.fastOpensTaken++;
            c.sndNxt = s.ack;
            c.bytesAcked += dataBytes;
            c.flight.queue.acknowledge(s.ack);
            c.flight.scoreboard.reset(s.ack);
            c.flight.recovery.reset(s.ack);
        }
    }

    static void onTimeout(TcpConnection c, long now) {
        TcpConfig config = c.engine.config;
        boolean passive = c.is(Tcb.PASSIVE_OPEN);
        boolean tooOften = passive ? c.unansweredTimeouts >= config.synAckRetries && !isAcceptDeferred(c)
                : isSynSentTooOften(c, config);
        if (tooOften || passive && c.listener.closed) {
            ConnectionTimers.timeOut(c);
            return;
        }
        long waitedNanos = RttEstimator.backedOff(c);
        ConnectionTimers.countTimeout(c);
        if (passive && !c.is(Tcb.EARLY) && !c.acceptDeferred && c.listener.overflowedWithin(waitedNanos, now)) {
            // Most are a flood's, and their answer goes nowhere. A client that waits for it asks again.
            c.engine.counters.synAcksWithheld++;
        } else if (!isAcceptDeferred(c)) {
            // Also when the time to wait for data is over: the client's answer then opens the connection.
            c.set(Tcb.SYN_DUE);
        }
        c.setRetransmitTimer(RetransmitTimer.SYN, now + RttEstimator.backedOff(c));
    }

    /** The client has answered our SYN-ACK, and has some time left to send data. */
    private static boolean isAcceptDeferred(TcpConnection c) {
        return c.acceptDeferred && c.unansweredTimeouts < c.listener.deferredTimeouts;
    }

    /** As Linux does (tcp_check_req): the acknowledgement of the handshake alone is as if it had not come. */
    private static boolean defersAccept(TcpConnection c, Segment s) {
        return c.is(Tcb.PASSIVE_OPEN) && !c.is(Tcb.EARLY) && c.unansweredTimeouts < c.listener.deferredTimeouts
                && s.sequenceLength() == 0 && c.lastSendNanos != Tcb.NEVER;
    }

    /** A user timeout takes the place of the configuration's number, not of the one set for the connection. */
    private static boolean isSynSentTooOften(TcpConnection c, TcpConfig config) {
        int own = c.extras == null ? 0 : c.extras.synRetries;
        return own > 0 ? c.unansweredTimeouts >= own
                : c.unansweredTimeouts >= config.synRetries && c.userTimeoutMillis == 0;
    }

    /** RFC 9293 section 3.10.7.3. */
    static void onSegmentInSynSent(TcpConnection c, Segment s, long now) {
        boolean ack = s.has(TcpFlags.ACK);
        if (ack && (Sequence.beforeOrAt(s.ack, c.iss) || Sequence.after(s.ack, c.sndNxt + c.fastOpenBytes))) {
            // First: it acknowledges something else, an old connection perhaps.
            if (!s.has(TcpFlags.RST)) {
                c.engine.replies.resetFor(s, c.mark());
            }
            return;
        }
        if (s.has(TcpFlags.RST)) {
            // Second: believed only if it answers our SYN.
            if (ack) {
                c.engine.counters.resetsIn++;
                c.engine.finish(c, CloseReason.REFUSED, CLOSED);
            }
            return;
        }
        if (!s.has(TcpFlags.SYN)) {
            return;
        }
        // Fourth: SYN.
        if (ack && c.engine.config.timestamps && s.timestamps && !echoesOurTime(c, s, now)) {
            c.engine.replies.resetFor(s, c.mark());
            return;
        }
        negotiate(c, s, now, Ecn.agreedBy(c, s));
        if (!ack) {
            // Simultaneous open (RFC 9293 figure 8): answer with SYN-ACK, same number.
            c.engine.openPace.leave(c, now);
            if (c.sndNxt == c.iss && c.engine.openPace.remove(c)) {
                c.clear(Tcb.READY);
            }
            c.state = SYN_RECEIVED;
            c.set(Tcb.SYN_DUE);
            c.engine.ready(c);
            return;
        }
        c.engine.openPace.leave(c, now);
        if (c.is(Tcb.FAST_OPEN)) {
            c.engine.fastOpen.remember(c, s);
        }
        int dataBytes = s.ack - (c.iss + 1);
        onSynAcknowledged(c, s, now);
        establish(c, s, now);
        c.set(Tcb.ACK_NOW);
        c.engine.events.connected(c);
        if (dataBytes > 0 && c.state != CLOSED) {
            AckInput.releaseIfIdle(c, c.flight);
            if (c.extras != null) {
                c.tellWhenNotSentIsLow();
            }
            c.engine.events.acked(c, dataBytes);
        }
        if (c.state != CLOSED && (s.payloadLength > 0 || s.has(TcpFlags.FIN))) {
            // Data may come with the SYN (section 3.4.1); it begins behind it.
            s.seq++;
            DataInput.process(c, s, now);
            s.seq--;
        }
    }

    /** RFC 7323 section 3.2: the echo must be a time at which we have sent. */
    private static boolean echoesOurTime(TcpConnection c, Segment s, long now) {
        return s.tsEcho == 0 || Sequence.beforeOrAt(s.tsEcho, c.timestamp(now));
    }

    // ---- passive open ----

    /** A SYN for a listener with room: a connection in SYN-RECEIVED. */
    static TcpConnection accept(TcpListener listener, Segment s, int iss, long now) {
        TcpEngine engine = listener.engine;
        TcpConnection c = new TcpConnection(engine, s.destinationHigh, s.destinationLow, s.destinationPort,
                s.sourceHigh, s.sourceLow, s.sourcePort);
        c.listener = listener;
        c.set(Tcb.PASSIVE_OPEN);
        if (listener.maxSegmentBytes > 0) {
            c.maxSegment(listener.maxSegmentBytes);
        }
        c.mark(listener.mark);
        prepare(c, iss, engine.config.mtuBytes);
        negotiate(c, s, now, Ecn.agreedTo(engine.config, s));
        c.state = SYN_RECEIVED;
        c.lastReceiveNanos = now;
        c.set(Tcb.SYN_DUE);
        listener.halfOpen++;
        engine.connections.add(c);
        engine.ready(c);
        return c;
    }

    /** RFC 7413 section 4.2.2: the user gets the connection and the data of its SYN, a FIN excepted, at once. */
    static void acceptEarly(TcpConnection c, Segment s, long now) {
        c.set(Tcb.EARLY | Tcb.REPORTED);
        c.listener.fastOpens.take();
        c.engine.counters.fastOpens++;
        c.engine.counters.passiveOpens++;
        c.rcvAdv = c.rcvNxt + Math.min(0xFFFF, c.receiveBufferBytes);
        c.cwnd = SegmentOutput.initialWindow(c);
        c.engine.events.accepted(c.listener, c);
        if (c.state != CLOSED) {
            int flags = s.flags;
            s.flags &= ~TcpFlags.FIN;
            s.seq++;
            DataInput.process(c, s, now);
            s.seq--;
            s.flags = flags;
        }
    }

    /** What the peer's SYN says, given what we are ready to do. */
    static void negotiate(TcpConnection c, Segment s, long now, Ecn.Feedback feedback) {
        TcpConfig config = c.engine.config;
        c.irs = s.seq;
        c.rcvNxt = s.seq + 1;
        c.rcvAdv = c.state == SYN_SENT ? c.rcvNxt + Math.min(0xFFFF, c.receiveBufferBytes) : c.rcvNxt;
        c.lastAckSent = c.rcvNxt;
        c.finSeq = c.rcvNxt;
        if (s.mss != 0) {
            c.peerMss = (char) Math.max(config.limits.minSendMss, s.mss);
        }
        c.assign(Tcb.TIMESTAMPS, config.timestamps && s.timestamps);
        if (c.is(Tcb.TIMESTAMPS)) {
            c.tsRecent = s.tsValue;
            c.tsRecentNanos = now;
            c.set(Tcb.TS_RECENT_VALID);
        }
        c.assign(Tcb.SACK, config.sack && s.sackPermitted);
        c.assign(Tcb.WINDOW_SCALING, config.windowScaling && s.windowScale != Segment.ABSENT);
        if (c.is(Tcb.WINDOW_SCALING)) {
            c.sndWndShift = (byte) Math.min(MAX_WINDOW_SHIFT, s.windowScale);
        } else {
            c.rcvWndShift = 0;
        }
        Ecn.begin(c, s, feedback);
        c.sndWnd = s.window;
        c.maxSndWnd = s.window;
        c.sndWl1 = s.seq;
        c.sndWl2 = s.ack;
        updateSendMss(c);
    }

    /**
     * RFC 6691: what the peer takes and the path carries, less the options that every segment has. Bursts of the pacer
     * follow from it.
     */
    static void updateSendMss(TcpConnection c) {
        c.sndMss = sendMss(c, c.mtu);
        if (c.pacer != null) {
            c.pacer.update(c);
        }
    }

    /** What it would be on a path of this MTU. */
    static int sendMss(TcpConnection c, int mtuBytes) {
        int mss = Math.min(Math.min(c.peerMss, mtuBytes - c.headerBytes()), c.maxSegmentBytes());
        return Math.max(8, mss - (c.is(Tcb.TIMESTAMPS) ? TIMESTAMPS_OPTION_BYTES : 0));
    }

    /** A SYN in SYN-RECEIVED that lies in the window; true if it is the peer's half of a simultaneous open. */
    static boolean onSynInSynReceived(TcpConnection c, Segment s) {
        // RFC 9293 figure 8: the SYN-ACK of a simultaneous open repeats the SYN and acknowledges ours.
        return !c.is(Tcb.PASSIVE_OPEN) && s.has(TcpFlags.ACK) && s.seq == c.irs;
    }

    /** Fifth check in SYN-RECEIVED. Returns false if the segment must be dropped. */
    static boolean onAckInSynReceived(TcpConnection c, Segment s, long now) {
        if (!Sequence.after(s.ack, c.sndUna) || Sequence.after(s.ack, c.sndNxt)) {
            c.engine.refuse(s, c.mark());
            return false;
        }
        if (c.is(Tcb.TIMESTAMPS) && s.timestamps && s.tsEcho != 0
                && Sequence.before(s.tsEcho, c.timestamp(c.lastReceiveNanos))) {
            // It echoes a time before the SYN came: an old connection's TIME-WAIT answers what an old SYN has made, and
            // the numbers happen to fit (RFC 7323 section 3.2). A RST here would end that TIME-WAIT (RFC 1337).
            c.engine.counters.unacceptableSegments++;
            return false;
        }
        if (defersAccept(c, s)) {
            c.acceptDeferred = true;
            c.engine.counters.acceptsDeferred++;
            return false;
        }
        c.sndUna = c.iss + 1;
        establish(c, s, now);
        if (c.is(Tcb.PASSIVE_OPEN)) {
            TcpListener listener = c.listener;
            c.listener = null;
            listener.handshakeCompleted(c);
            if (listener.closed) {
                c.engine.reset(c);
                c.engine.finish(c, CloseReason.ABORTED, CLOSED);
                return false;
            }
            if (c.is(Tcb.EARLY)) {
                c.clear(Tcb.EARLY);
                return true;
            }
            c.engine.counters.passiveOpens++;
            c.set(Tcb.REPORTED);
            c.engine.events.accepted(listener, c);
        } else {
            c.engine.events.connected(c);
        }
        return c.state != CLOSED;
    }

    /** RFC 7323 section 2.2: the window of a SYN is never scaled, whatever was agreed since. */
    static int offeredWindow(TcpConnection c, Segment s) {
        return s.has(TcpFlags.SYN) ? s.window : s.window << c.sndWndShift;
    }

    private static void establish(TcpConnection c, Segment s, long now) {
        c.state = c.is(Tcb.FIN_QUEUED) ? FIN_WAIT_1 : ESTABLISHED;
        c.clear(Tcb.SYN_DUE);
        c.stopRetransmitTimer();
        c.sndWnd = offeredWindow(c, s);
        c.maxSndWnd = Math.max(c.maxSndWnd, c.sndWnd);
        c.sndWl1 = s.seq;
        c.sndWl2 = s.ack;
        c.lastReceiveNanos = now;
        c.stalledSinceNanos = now;
        c.unansweredTimeouts = 0;
        c.backoff = 0;
        c.rackForwardAck = c.sndUna;
        c.rackEndSeq = c.sndUna;
        c.ecnEndSeq = c.sndUna;
        c.cwnd = SegmentOutput.initialWindow(c);
        boolean sentEarly = c.is(Tcb.EARLY) && c.sndNxt != c.iss + 1;
        if (sentEarly) {
            // The data sent since the SYN-ACK is what the acknowledgement times.
            ConnectionTimers.restart(c, c.flight, now);
            PathMtu.resendTooBig(c);
        } else if (!c.is(Tcb.SYN_RETRANSMITTED)) {
            // The time at which a SYN cookie was sent is not known. A client that was waited for had thought meanwhile.
            if (c.lastSendNanos != Tcb.NEVER && !c.acceptDeferred) {
                RttEstimator.sample(c, now - c.lastSendNanos);
                RttEstimator.sampleMinimum(c, now - c.lastSendNanos, now);
            }
        } else {
            c.rtoNanos = Math.max(c.rtoNanos, RTO_AFTER_LOST_SYN_NANOS);
        }
        if (c.is(Tcb.ECN)) {
            AccurateEcn.onEstablished(c, s, now);
        }
        ConnectionTimers.startKeepAlive(c);
    }
}
