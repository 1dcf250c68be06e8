package io.rdmaraw.tcp;

import static io.rdmaraw.tcp.TcpState.*;

import io.rdmaraw.tcp.Tcb.RetransmitTimer;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;

/**
 * The handshake: SYN-SENT, SYN-RECEIVED and the options negotiated by SYNs (RFC 9293 sections 3.10.7.2 to
 * 3.10.7.4).
 */
final class Handshake {
    /** MSS assumed for a peer that sends no MSS option (RFC 9293 section 3.7.1). */
    private static final int DEFAULT_MSS_IPV4 = 536;
    private static final int DEFAULT_MSS_IPV6 = 1220;
    /** RFC 7323 section 2.3 */
    private static final int MAX_WINDOW_SHIFT = 14;
    /** Minimum MSS: room for all options and eight bytes of data (Linux: {@code TCP_MIN_SND_MSS}). */
    private static final int MIN_SEND_MSS = 48;
    static final int TIMESTAMPS_OPTION_BYTES = 12;
    /** RFC 6298 section 5.7 */
    private static final long RTO_AFTER_LOST_SYN_NANOS = 3_000_000_000L;

    private Handshake() {
    }

    /** Initializes the state that active and passive opens share. */
    static void initialize(TcpConnection c, int iss, int mtu) {
        TcpConfig config = c.engine.config;
        c.iss = iss;
        c.sndUna = iss;
        c.sndNxt = iss;
        c.ecnEndSeq = iss;
        c.rackForwardAck = iss;
        c.userTimeoutMillis = (int) (config.userTimeoutNanos / 1_000_000);
        c.lastProgressNanos = c.engine.now();
        c.linkMtu = (char) mtu;
        c.mtu = (char) mtu;
        c.receiveBufferBytes = config.initialReceiveBufferBytes;
        c.maxReceiveBufferBytes = config.effectiveMaxReceiveBufferBytes();
        c.tuningStampNanos = c.engine.now();
        DeliveryRate.setCongestionControl(c, config.congestionControl.create());
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
        c.engine.connectThrottle.open(c, now);
    }

    /** Writes a SYN, or a SYN-ACK in SYN-RECEIVED. Handles both the first transmission and retransmissions. */
    static boolean sendSyn(TcpConnection c, long now, Segment out) {
        TcpConfig config = c.engine.config;
        boolean synAck = c.state == SYN_RECEIVED;
        c.clear(Tcb.SYN_DUE | Tcb.ACK_NOW | Tcb.ACK_DELAYED);
        c.ackDeadlineNanos = Tcb.NEVER;
        SegmentOutput.address(c, out);
        out.seq = c.iss;
        out.flags = synAck ? TcpFlags.SYN | TcpFlags.ACK : TcpFlags.SYN;
        out.ack = synAck ? c.rcvNxt : 0;
        if (!synAck) {
            c.rcvAdv = c.rcvNxt;
        }
        out.window = ReceiveWindow.advertise(c, true);
        // RFC 6691: the MTU minus the fixed headers, independent of the options in use
        out.mss = Math.min(c.linkMtu - c.headerBytes(), c.maxSegmentBytes());
        // A SYN-ACK contains only options that the peer has offered (RFC 7323 sections 2.2 and 3.2, RFC 2018
        // section 2).
        if (synAck ? c.is(Tcb.WINDOW_SCALING) : config.windowScaling) {
            if (c.sndNxt == c.iss) {
                // The peer may have received the first SYN, so a retransmission repeats its shift count.
                c.rcvWndShift = (byte) ReceiveWindow.shiftFor(c.maxReceiveBufferBytes);
            }
            out.windowScale = c.rcvWndShift;
        }
        out.sackPermitted = synAck ? c.is(Tcb.SACK) : config.sack;
        if (synAck ? c.is(Tcb.TIMESTAMPS) : config.timestamps) {
            out.timestamps(c.timestamp(now), c.tsRecent);
        }
        if (synAck && c.is(Tcb.FAST_OPEN)) {
            c.engine.fastOpen.addCookie(c, out);
        } else if (c.is(Tcb.FAST_OPEN) && c.sndNxt == c.iss) {
            c.engine.fastOpen.offer(c, out, now);
            attachData(c, out);
        }
        out.flags |= Ecn.setupFlags(c, synAck);
        if (synAck && c.sndNxt == c.iss && AccurateEcn.of(c) != null && config.accEcnOption) {
            // RFC 9768 section 3.2.3.2.2: a retransmission has no option, in case the path has dropped the first.
            AccEcnOption.writeInitial(out);
        }
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
            c.setRetransmitTimer(RetransmitTimer.SYN, now + RttEstimator.backedOffRtoNanos(c));
        }
        return true;
    }

    /** Adds data to a SYN that carries a cookie (RFC 7413 section 4.2.1 step 2). */
    private static void attachData(TcpConnection c, Segment out) {
        int limit = Math.min(Math.min(c.peerMss, c.mtu - c.headerBytes()), c.maxSegmentBytes())
                - out.optionsLengthBytes();
        int length = Math.min(c.queuedBytes(), limit);
        if (out.fastOpenCookieLengthBytes > 0 && length > 0) {
            c.synDataBytes = (char) c.sendState.queue.slice(c.iss + 1, length, c.engine.config.maxSlices, out);
            // A SYN has no PSH, as on Linux.
            out.flags &= ~TcpFlags.PSH;
            c.engine.counters.payloadBytesOut += c.synDataBytes;
        }
    }

    /**
     * Handles the acknowledgement of our SYN. It may cover data sent with the SYN (RFC 7413 section 4.2.1 step
     * 3). Data that it does not cover is sent again as new data.
     */
    private static void onSynAcknowledged(TcpConnection c, Segment s, long now) {
        int dataBytes = s.ack - (c.iss + 1);
        c.sndUna = s.ack;
        if (c.synDataBytes > 0 && c.is(Tcb.SYN_RETRANSMITTED) && dataBytes == 0) {
            c.engine.fastOpen.blockServer(c, now);
        }
        if (dataBytes > 0) {
            c.engine.counters.activeFastOpens++;
            c.sndNxt = s.ack;
            c.bytesAcked += dataBytes;
            c.sendState.queue.acknowledge(s.ack);
            c.sendState.scoreboard.reset(s.ack);
            c.sendState.recovery.reset(s.ack);
        }
    }

    static void onTimeout(TcpConnection c, long now) {
        TcpConfig config = c.engine.config;
        boolean passive = c.is(Tcb.PASSIVE_OPEN);
        boolean retriesExhausted = passive ? c.unansweredTimeouts >= config.synAckRetries && !isAcceptDeferred(c)
                : areSynRetriesExhausted(c, config);
        if (retriesExhausted || passive && c.listener.closed) {
            ConnectionTimers.timeOut(c);
            return;
        }
        long waitedNanos = RttEstimator.backedOffRtoNanos(c);
        ConnectionTimers.onUnansweredTimeout(c);
        if (passive && !c.is(Tcb.ACCEPTED_EARLY) && !c.acceptDeferred
                && c.listener.overflowedWithin(waitedNanos, now)) {
            // The backlog has overflowed, so most of these SYN-ACKs would answer a flood and reach no client. A
            // real client retransmits its SYN.
            c.engine.counters.synAcksWithheld++;
        } else if (!isAcceptDeferred(c)) {
            // This includes the end of a deferred accept: the client's answer then opens the connection.
            c.set(Tcb.SYN_DUE);
        }
        c.setRetransmitTimer(RetransmitTimer.SYN, now + RttEstimator.backedOffRtoNanos(c));
    }

    /**
     * Returns whether the client has completed the handshake and still has time to send data (TCP_DEFER_ACCEPT).
     */
    private static boolean isAcceptDeferred(TcpConnection c) {
        return c.acceptDeferred && c.unansweredTimeouts < c.listener.deferredTimeouts;
    }

    /**
     * Returns whether the ACK of the handshake is dropped because the listener waits for data (as Linux's
     * tcp_check_req).
     */
    private static boolean defersAccept(TcpConnection c, Segment s) {
        return c.is(Tcb.PASSIVE_OPEN) && !c.is(Tcb.ACCEPTED_EARLY) && c.unansweredTimeouts < c.listener.deferredTimeouts
                && s.sequenceLength() == 0 && c.lastSendNanos != Tcb.NEVER;
    }

    /**
     * Returns whether the limit of SYN retries is reached. A user timeout replaces the configured limit, but not
     * a limit set for the connection.
     */
    private static boolean areSynRetriesExhausted(TcpConnection c, TcpConfig config) {
        int own = c.extras == null ? 0 : c.extras.synRetries;
        return own > 0 ? c.unansweredTimeouts >= own
                : c.unansweredTimeouts >= config.synRetries && c.userTimeoutMillis == 0;
    }

    /** Handles a segment in SYN-SENT (RFC 9293 section 3.10.7.3). */
    static void onSegmentInSynSent(TcpConnection c, Segment s, long now) {
        boolean ack = s.has(TcpFlags.ACK);
        if (ack && (Sequence.beforeOrAt(s.ack, c.iss) || Sequence.after(s.ack, c.sndNxt + c.synDataBytes))) {
            // First check: the ACK is unacceptable and may belong to an old connection.
            if (!s.has(TcpFlags.RST)) {
                c.engine.replies.addReset(s, c.soMark());
            }
            return;
        }
        if (s.has(TcpFlags.RST)) {
            // Second check: a RST is accepted only if it acknowledges our SYN.
            if (ack) {
                c.engine.counters.resetsIn++;
                c.engine.finish(c, CloseReason.REFUSED, CLOSED);
            }
            return;
        }
        if (!s.has(TcpFlags.SYN)) {
            return;
        }
        // Fourth check: SYN.
        if (ack && c.engine.config.timestamps && s.timestamps && !isTimestampEchoValid(c, s, now)) {
            c.engine.replies.addReset(s, c.soMark());
            return;
        }
        c.peerMac = s.peerMac;
        negotiate(c, s, now, Ecn.feedbackForSynAck(c, s));
        if (!ack) {
            // Simultaneous open (RFC 9293 figure 8): answer with a SYN-ACK that has the same sequence number.
            c.engine.connectThrottle.onLeaveSynSent(c, now);
            if (c.sndNxt == c.iss && c.engine.connectThrottle.remove(c)) {
                c.clear(Tcb.OUTPUT_QUEUED);
            }
            c.state = SYN_RECEIVED;
            c.set(Tcb.SYN_DUE);
            c.engine.queueOutput(c);
            return;
        }
        c.engine.connectThrottle.onLeaveSynSent(c, now);
        if (c.is(Tcb.FAST_OPEN)) {
            c.engine.fastOpen.storeCookie(c, s);
        }
        int dataBytes = s.ack - (c.iss + 1);
        onSynAcknowledged(c, s, now);
        establish(c, s, now);
        c.set(Tcb.ACK_NOW);
        c.engine.events.connected(c);
        if (dataBytes > 0 && c.state != CLOSED) {
            AckInput.releaseIfIdle(c, c.sendState);
            if (c.extras != null) {
                c.notifyIfNotSentLow();
            }
            c.engine.events.acked(c, dataBytes);
        }
        if (c.state != CLOSED && (s.payloadLength > 0 || s.has(TcpFlags.FIN))) {
            // A SYN may carry data (section 3.4.1), which starts at the next sequence number.
            s.seq++;
            DataInput.process(c, s, now);
            s.seq--;
        }
    }

    /** Returns whether the timestamp echo is not in the future, so it may be ours (RFC 7323 section 3.2). */
    private static boolean isTimestampEchoValid(TcpConnection c, Segment s, long now) {
        return s.tsEcho == 0 || Sequence.beforeOrAt(s.tsEcho, c.timestamp(now));
    }

    // ---- passive open ----

    /** Creates a connection in SYN-RECEIVED for a SYN. The caller has checked that the listener has room. */
    static TcpConnection accept(TcpListener listener, Segment s, int iss, long now) {
        TcpEngine engine = listener.engine;
        TcpConnection c = new TcpConnection(engine, s.destinationHigh, s.destinationLow, s.destinationPort,
                s.sourceHigh, s.sourceLow, s.sourcePort);
        c.listener = listener;
        c.peerMac = s.peerMac;
        c.set(Tcb.PASSIVE_OPEN);
        if (listener.maxSegmentBytes > 0) {
            c.maxSegmentBytes(listener.maxSegmentBytes);
        }
        c.soMark(listener.soMark);
        initialize(c, iss, engine.config.mtuBytes);
        if (listener.receiveBufferBytes > 0) {
            c.receiveBufferBytes = listener.receiveBufferBytes;
            c.maxReceiveBufferBytes = listener.receiveBufferBytes;
        }
        negotiate(c, s, now, Ecn.feedbackForSyn(engine.config, s));
        c.state = SYN_RECEIVED;
        c.lastReceiveNanos = now;
        c.set(Tcb.SYN_DUE);
        listener.engineHalfOpenCount++;
        engine.connections.add(c);
        engine.queueOutput(c);
        return c;
    }

    /**
     * Delivers the connection and the data of its SYN to the user before the handshake is complete (RFC 7413
     * section 4.2.2). A FIN is not processed yet.
     */
    static void acceptEarly(TcpConnection c, Segment s, long now) {
        c.set(Tcb.ACCEPTED_EARLY | Tcb.REPORTED_TO_USER);
        c.listener.fastOpenSlots.acquire();
        c.engine.counters.passiveFastOpens++;
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

    /** Applies the options of the peer's SYN if the configuration enables them. */
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

    /** Updates the send MSS (RFC 6691) and the pacing bursts derived from it. */
    static void updateSendMss(TcpConnection c) {
        c.sndMss = sndMssFor(c, c.mtu);
        if (c.pacer != null) {
            c.pacer.update(c);
        }
    }

    /**
     * Returns the payload of a full-sized segment for a path MTU, in bytes. It is bounded by the peer's MSS and
     * the MTU, minus the options that every segment carries.
     */
    static int sndMssFor(TcpConnection c, int mtuBytes) {
        int mss = Math.min(Math.min(c.peerMss, mtuBytes - c.headerBytes()), c.maxSegmentBytes());
        mss = Math.max(MIN_SEND_MSS, Math.min(mss, halfWindow(c)));
        return mss - (c.is(Tcb.TIMESTAMPS) ? TIMESTAMPS_OPTION_BYTES : 0);
    }

    /**
     * Returns the maximum segment size for the peer's window: half of the largest window seen, as in Linux
     * (tcp_bound_to_half_wnd). If one segment filled the window, a peer with delayed ACKs would stall the connection.
     * Windows of up to 536 bytes are used as a whole.
     */
    private static int halfWindow(TcpConnection c) {
        return c.maxSndWnd == 0 ? Integer.MAX_VALUE
                : c.maxSndWnd > DEFAULT_MSS_IPV4 ? c.maxSndWnd / 2 : c.maxSndWnd;
    }

    /** Records the largest window of the peer, which limits the segment size. */
    static void updateMaxSendWindow(TcpConnection c, int window) {
        if (window > c.maxSndWnd) {
            boolean bounds = halfWindow(c) < c.linkMtu;
            c.maxSndWnd = window;
            if (bounds) {
                updateSendMss(c);
            }
        }
    }

    /**
     * Returns whether a SYN received in SYN-RECEIVED belongs to a simultaneous open. The caller has checked that
     * it lies in the window.
     */
    static boolean isSimultaneousOpen(TcpConnection c, Segment s) {
        // RFC 9293 figure 8: in a simultaneous open, the peer's SYN-ACK repeats its SYN and acknowledges ours.
        return !c.is(Tcb.PASSIVE_OPEN) && s.has(TcpFlags.ACK) && s.seq == c.irs;
    }

    /** Performs the fifth check in SYN-RECEIVED. Returns false if the segment must be dropped. */
    static boolean onAckInSynReceived(TcpConnection c, Segment s, long now) {
        if (!Sequence.after(s.ack, c.sndUna) || Sequence.after(s.ack, c.sndNxt)) {
            c.engine.refuse(s, c.soMark());
            return false;
        }
        if (c.is(Tcb.TIMESTAMPS) && s.timestamps && s.tsEcho != 0
                && Sequence.before(s.tsEcho, c.timestamp(c.lastReceiveNanos))) {
            // The echo is older than the SYN that opened this connection. That SYN was an old duplicate, and the
            // peer's TIME-WAIT has answered our SYN-ACK with numbers that happen to match (RFC 7323 section 3.2).
            // A RST would end that TIME-WAIT (RFC 1337).
            c.engine.counters.unacceptableSegments++;
            return false;
        }
        if (defersAccept(c, s)) {
            c.acceptDeferred = true;
            c.engine.counters.acceptsDeferred++;
            return false;
        }
        if (c.is(Tcb.PASSIVE_OPEN) && !c.is(Tcb.ACCEPTED_EARLY) && !c.engine.events.mayAccept(c.listener)) {
            return false;
        }
        c.sndUna = c.iss + 1;
        establish(c, s, now);
        if (c.is(Tcb.PASSIVE_OPEN)) {
            TcpListener listener = c.listener;
            c.listener = null;
            listener.onHandshakeCompleted(c);
            if (listener.closed) {
                c.engine.queueReset(c);
                c.engine.finish(c, CloseReason.ABORTED, CLOSED);
                return false;
            }
            if (c.is(Tcb.ACCEPTED_EARLY)) {
                c.clear(Tcb.ACCEPTED_EARLY);
                return true;
            }
            c.engine.counters.passiveOpens++;
            c.set(Tcb.REPORTED_TO_USER);
            c.engine.events.accepted(listener, c);
        } else {
            c.engine.events.connected(c);
        }
        return c.state != CLOSED;
    }

    /** Returns the window of a segment in bytes. The window of a SYN is never scaled (RFC 7323 section 2.2). */
    static int offeredWindow(TcpConnection c, Segment s) {
        return s.has(TcpFlags.SYN) ? s.window : s.window << c.sndWndShift;
    }

    private static void establish(TcpConnection c, Segment s, long now) {
        c.state = c.is(Tcb.FIN_QUEUED) ? FIN_WAIT_1 : ESTABLISHED;
        c.clear(Tcb.SYN_DUE);
        c.stopRetransmitTimer();
        c.sndWnd = offeredWindow(c, s);
        updateMaxSendWindow(c, c.sndWnd);
        c.sndWl1 = s.seq;
        c.sndWl2 = s.ack;
        c.lastReceiveNanos = now;
        c.lastProgressNanos = now;
        c.unansweredTimeouts = 0;
        c.backoff = 0;
        c.rackForwardAck = c.sndUna;
        c.rackEndSeq = c.sndUna;
        c.ecnEndSeq = c.sndUna;
        c.cwnd = SegmentOutput.initialWindow(c);
        boolean sentEarly = c.is(Tcb.ACCEPTED_EARLY) && c.sndNxt != c.iss + 1;
        if (sentEarly) {
            // The ACK measures the RTT of data sent after the SYN-ACK.
            ConnectionTimers.restartRetransmitTimer(c, c.sendState, now);
            PathMtu.resendTooBig(c);
        } else if (!c.is(Tcb.SYN_RETRANSMITTED)) {
            // A SYN cookie has no known send time, and a deferred accept includes the time that the client took
            // to send data. Neither gives an RTT sample.
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
