package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;

/**
 * Processes segments in LISTEN (RFC 9293 section 3.10.7.2). A SYN creates a half-open connection, which occupies a
 * place of the backlog. If the backlog is full, the SYN is answered with a SYN cookie (RFC 4987) or dropped, as
 * configured; cookies can also be configured for every SYN. While the server's queue of accepted connections is full,
 * every SYN is dropped ({@link TcpEvents#mayAccept}), and so is an ACK that returns a cookie.
 *
 * <p>A SYN that is answered with a cookie creates no connection, and its Fast Open option is ignored. The ACK that
 * returns the cookie creates the connection.
 */
final class ListenInput {
    private ListenInput() {
    }

    /** @param isn initial sequence number of the connection that a SYN creates */
    static void process(TcpEngine engine, TcpListener listener, Segment s, int isn, long now) {
        // First check: RST is ignored. Second: an ACK is answered with RST, unless it returns a cookie. Third: SYN.
        if (s.has(TcpFlags.RST)) {
            return;
        }
        if (s.has(TcpFlags.ACK)) {
            if (s.has(TcpFlags.SYN) || !acceptCookie(engine, listener, s, now)) {
                engine.refuse(s, listener.soMark);
            }
            return;
        }
        if (!s.has(TcpFlags.SYN)) {
            return;
        }
        if (s.has(TcpFlags.FIN)) {
            // RFC 9293 permits SYN with FIN, but only scans that try to pass packet filters use it. Linux drops
            // it too.
            engine.counters.synFinDrops++;
            return;
        }
        if (!engine.events.mayAccept(listener)) {
            return;
        }
        TcpConfig.SynCookieMode mode = engine.config.synCookies;
        boolean backlogFull = listener.halfOpenCount() >= listener.backlog;
        if (backlogFull) {
            listener.lastOverflowNanos = now;
        }
        if (mode == TcpConfig.SynCookieMode.ALWAYS || backlogFull && mode == TcpConfig.SynCookieMode.ON_OVERFLOW) {
            sendCookie(engine, listener, s, now);
        } else if (backlogFull) {
            engine.counters.synDrops++;
        } else {
            TcpConnection c = Handshake.accept(listener, s, isn, now);
            if (listener.maxFastOpens > 0 && s.fastOpenCookieLengthBytes != Segment.ABSENT) {
                fastOpen(engine, listener, c, s, now);
            }
        }
    }

    /**
     * Handles a SYN with the Fast Open option (RFC 7413 section 4.2.2). If the cookie is valid and the listener has a
     * place for another early connection, the data of the SYN is delivered at once. Otherwise the data is ignored, and
     * the peer retransmits it after the handshake. If the cookie is missing or invalid, the SYN-ACK carries a new one.
     */
    private static void fastOpen(TcpEngine engine, TcpListener listener, TcpConnection c, Segment s, long now) {
        if (!engine.fastOpen.isCookieValid(s)) {
            engine.counters.fastOpenCookiesRejected += s.fastOpenCookieLengthBytes > 0 ? 1 : 0;
            c.set(Tcb.FAST_OPEN);
        } else if (s.payloadLength > 0 && listener.hasFastOpenSlot(now)) {
            Handshake.acceptEarly(c, s, now);
        }
    }

    private static void sendCookie(TcpEngine engine, TcpListener listener, Segment s, long now) {
        Segment out = engine.replies.add();
        if (out == null) {
            return;
        }
        TcpConfig config = engine.config;
        engine.counters.synCookiesSent++;
        engine.secrets.onCookieSent(now);
        ReplyQueue.addressReply(s, out, listener.soMark);
        out.seq = engine.synCookies.cookie(s, now);
        out.ack = s.seq + 1;
        out.flags = TcpFlags.SYN | TcpFlags.ACK;
        out.window = Math.min(0xFFFF, config.initialReceiveBufferBytes);
        boolean ipv4 = s.sourceHigh == 0 && s.sourceLow >>> 32 == 0xFFFF;
        out.mss = config.mtuBytes - (ipv4 ? 40 : 60);
        if (listener.maxSegmentBytes > 0) {
            out.mss = Math.min(out.mss, listener.maxSegmentBytes);
        }
        if (config.timestamps && s.timestamps) {
            int offset = engine.initialSequence.timestampOffset(s.destinationHigh, s.destinationLow, s.sourceHigh,
                    s.sourceLow);
            out.timestamps(SynCookies.timestampWith(s, config, (int) (now / 1_000_000) + offset), s.tsValue);
            out.sackPermitted = config.sack && s.sackPermitted;
            if (config.windowScaling && s.windowScale != Segment.ABSENT) {
                out.windowScale = ReceiveWindow.shiftFor(config.effectiveMaxReceiveBufferBytes());
            }
            if (Ecn.feedbackForSyn(config, s) == Ecn.Feedback.CLASSIC) {
                out.flags |= TcpFlags.ECE;
            }
        }
        if (Ecn.feedbackForSyn(config, s) == Ecn.Feedback.ACCURATE) {
            // RFC 9768 section 5.1: the client's ACK proves the agreement, even without timestamps.
            out.flags |= AccurateEcn.handshakeFlags(s.ecn);
            if (config.accEcnOption) {
                AccEcnOption.writeInitial(out);
            }
        }
    }

    /**
     * Creates a connection from the ACK that returns a SYN cookie. Segments without a valid cookie create none. Returns
     * false if the segment must be answered with RST.
     */
    private static boolean acceptCookie(TcpEngine engine, TcpListener listener, Segment s, long now) {
        TcpConfig.SynCookieMode mode = engine.config.synCookies;
        boolean expected = mode == TcpConfig.SynCookieMode.ALWAYS || mode == TcpConfig.SynCookieMode.ON_OVERFLOW
                && engine.secrets.mayExpectCookie(now);
        if (!expected) {
            return false;
        }
        int mss = engine.synCookies.mssOf(s, now);
        if (mss == 0) {
            engine.counters.synCookiesRejected++;
            // Data may overtake the ACK that returns the cookie. The sequence number of such data is not the client's
            // ISN + 1, so the hash does not match, but a RST would destroy the connection that the ACK is about to
            // create. So a segment with data or a FIN gets no RST if its acknowledgement number resembles a recent
            // cookie, even if it belongs to no connection at all.
            return s.sequenceLength() > 0 && engine.synCookies.isRecent(s, now);
        }
        if (s.timestamps && !SynCookies.isTimestampEchoValid(engine, s, now)) {
            // The echoed timestamp is not one of this host's recent ones, so the segment does not answer a SYN-ACK
            // of this listener (RFC 7323 section 3.2). No RST: see Handshake.onAckInSynReceived.
            engine.counters.synCookiesRejected++;
            return true;
        }
        Segment syn = engine.scratchSegment;
        SynCookies.restoreSyn(s, syn, mss);
        TcpConnection c = Handshake.accept(listener, syn, s.ack - 1, now);
        // Set the state as after sending a SYN-ACK. When the SYN arrived is not known; the earliest possible time is
        // used, so that every timestamp echo accepted above is accepted again below. The RTT is not known either.
        c.lastReceiveNanos = now - SynCookies.oldestEchoNanos();
        c.sndNxt = c.iss + 1;
        c.clear(Tcb.SYN_DUE);
        c.rcvAdv = c.rcvNxt + Math.min(0xFFFF, c.receiveBufferBytes);
        if (c.is(Tcb.WINDOW_SCALING)) {
            c.rcvWndShift = (byte) ReceiveWindow.shiftFor(engine.config.effectiveMaxReceiveBufferBytes());
        }
        c.lastSendNanos = Tcb.NEVER;
        SegmentInput.process(c, s, now);
        if (c.state == TcpState.SYN_RECEIVED) {
            // The connection has no SYN-ACK in flight and no timer. Unless this segment has opened it, nothing
            // would end it.
            engine.counters.synCookiesRejected++;
            engine.finish(c, CloseReason.ABORTED, TcpState.CLOSED);
        } else {
            engine.counters.synCookiesAccepted++;
        }
        return true;
    }
}
