package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;

/** A segment for a listener (RFC 9293 section 3.10.7.2), with the SYN queue and cookies of RFC 4987. */
final class ListenInput {
    private ListenInput() {
    }

    /** @param isn initial sequence number for the connection that a SYN opens */
    static void process(TcpEngine engine, TcpListener listener, Segment s, int isn, long now) {
        // First: RST is ignored. Second: ACK is wrong here, unless it returns a cookie. Third: SYN.
        if (s.has(TcpFlags.RST)) {
            return;
        }
        if (s.has(TcpFlags.ACK)) {
            if (s.has(TcpFlags.SYN) || !acceptCookie(engine, listener, s, now)) {
                engine.refuse(s, listener.mark);
            }
            return;
        }
        if (!s.has(TcpFlags.SYN)) {
            return;
        }
        if (s.has(TcpFlags.FIN)) {
            // RFC 9293 permits it, but it is sent only to pass filters that look for SYN alone; as Linux.
            engine.counters.synFinDrops++;
            return;
        }
        TcpConfig.SynCookieMode mode = engine.config.synCookies;
        boolean full = listener.halfOpen() >= listener.backlog;
        if (full) {
            listener.lastOverflowNanos = now;
        }
        if (mode == TcpConfig.SynCookieMode.ALWAYS || full && mode == TcpConfig.SynCookieMode.ON_OVERFLOW) {
            sendCookie(engine, listener, s, now);
        } else if (full) {
            engine.counters.synDrops++;
        } else {
            TcpConnection c = Handshake.accept(listener, s, isn, now);
            if (listener.maxFastOpens > 0 && s.fastOpenCookieBytes != Segment.ABSENT) {
                fastOpen(engine, listener, c, s, now);
            }
        }
    }

    /** RFC 7413 section 4.2.2: data with a valid cookie goes to the user at once, all others get a cookie. */
    private static void fastOpen(TcpEngine engine, TcpListener listener, TcpConnection c, Segment s, long now) {
        if (!engine.fastOpen.isOurs(s)) {
            engine.counters.fastOpenCookiesRejected += s.fastOpenCookieBytes > 0 ? 1 : 0;
            c.set(Tcb.FAST_OPEN);
        } else if (s.payloadLength > 0 && listener.hasFastOpenPlace(now)) {
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
        ReplyQueue.answer(s, out, listener.mark);
        out.seq = engine.synCookies.cookie(s, now);
        out.ack = s.seq + 1;
        out.flags = TcpFlags.SYN | TcpFlags.ACK;
        out.window = Math.min(0xFFFF, config.receiveBufferBytes);
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
                out.windowScale = ReceiveWindow.shiftFor(config.largestReceiveBufferBytes());
            }
            if (Ecn.agreedTo(config, s) == Ecn.Feedback.CLASSIC) {
                out.flags |= TcpFlags.ECE;
            }
        }
        if (Ecn.agreedTo(config, s) == Ecn.Feedback.ACCURATE) {
            // RFC 9768 section 5.1: the client's answer says that this was agreed, with timestamps or without.
            out.flags |= AccurateEcn.handshakeFlags(s.ecn);
        }
    }

    /** The ACK that returns a cookie makes the connection. Returns false if the segment is to be reset. */
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
            // Data that overtook the ACK returns the cookie with a number that doesn't fit; a RST would kill what the
            // ACK is about to open. What isn't a cookie at all looks like this for two minutes at most.
            return s.sequenceLength() > 0 && engine.synCookies.isRecent(s, now);
        }
        if (s.timestamps && !SynCookies.echoesOurTime(engine, s, now)) {
            // This answers another host's SYN-ACK, or none (RFC 7323 section 3.2); see onAckInSynReceived.
            engine.counters.synCookiesRejected++;
            return true;
        }
        Segment syn = engine.scratch;
        SynCookies.restoreSyn(s, syn, mss);
        TcpConnection c = Handshake.accept(listener, syn, s.ack - 1, now);
        // As if the SYN-ACK had been sent from here; when the SYN came and the round trip time are not known.
        c.lastReceiveNanos = now - SynCookies.oldestEchoNanos();
        c.sndNxt = c.iss + 1;
        c.clear(Tcb.SYN_DUE);
        c.rcvAdv = c.rcvNxt + Math.min(0xFFFF, c.receiveBufferBytes);
        if (c.is(Tcb.WINDOW_SCALING)) {
            c.rcvWndShift = (byte) ReceiveWindow.shiftFor(c.maxReceiveBufferBytes);
        }
        c.lastSendNanos = Tcb.NEVER;
        SegmentInput.process(c, s, now);
        if (c.state == TcpState.SYN_RECEIVED) {
            // No SYN-ACK of its own is out and no timer runs: what this segment does not open, nothing would end.
            engine.counters.synCookiesRejected++;
            engine.finish(c, CloseReason.ABORTED, TcpState.CLOSED);
        } else {
            engine.counters.synCookiesAccepted++;
        }
        return true;
    }
}
