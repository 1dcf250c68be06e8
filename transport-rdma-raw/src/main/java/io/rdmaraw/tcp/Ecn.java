package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.tcp.send.Flight;

/** Explicit congestion notification (RFC 3168 section 6.1), and how DCTCP echoes marks (RFC 8257). */
final class Ecn {
    private Ecn() {
    }

    /** Whether a SYN asks for it: ECE and CWR (section 6.1.1). */
    static boolean offered(Segment syn) {
        return syn.has(TcpFlags.ECE) && syn.has(TcpFlags.CWR);
    }

    /** Whether a SYN-ACK agrees to it: ECE without CWR. */
    static boolean accepted(Segment synAck) {
        return synAck.has(TcpFlags.ECE) && !synAck.has(TcpFlags.CWR);
    }

    /** Whether our SYN asks for it. */
    static boolean wanted(TcpConnection c) {
        TcpConfig.EcnMode mode = c.engine.config.ecn;
        return mode == TcpConfig.EcnMode.ACTIVE || mode == TcpConfig.EcnMode.PASSIVE && c.congestion.countsMarks();
    }

    /** Section 6.1.3: the receiver's part. */
    static void onSegment(TcpConnection c, Segment s, long now) {
        if (!c.is(Tcb.ECN)) {
            return;
        }
        if (c.congestion.countsMarks()) {
            echoEach(c, s, now);
            return;
        }
        if (s.has(TcpFlags.CWR) && s.payloadLength > 0) {
            c.clear(Tcb.ECE_OWED);
        }
        if (s.ecn == Segment.ECN_CE) {
            c.engine.counters.congestionMarksIn++;
            if (!c.is(Tcb.ECE_OWED)) {
                c.set(Tcb.ECE_OWED | Tcb.ACK_NOW);
            }
        }
    }

    /**
     * RFC 8257 section 3.2: ECE tells of the data that is acknowledged. So when data of the other kind comes, what came
     * before is acknowledged first, as it was.
     */
    private static void echoEach(TcpConnection c, Segment s, long now) {
        if (s.payloadLength == 0) {
            return;
        }
        boolean marked = s.ecn == Segment.ECN_CE;
        if (marked) {
            c.engine.counters.congestionMarksIn++;
        }
        if (marked == c.is(Tcb.ECE_OWED)) {
            return;
        }
        if (c.lastAckSent != c.rcvNxt) {
            c.engine.replies.acknowledge(c, now);
        }
        c.assign(Tcb.ECE_OWED, marked);
        c.set(Tcb.ACK_NOW);
    }

    /** Section 6.1.2: whether the peer reports a mark that no reduction has answered yet. */
    static boolean echoed(TcpConnection c, Segment s) {
        return c.is(Tcb.ECN_SENDER) && s.has(TcpFlags.ECE) && Sequence.afterOrAt(c.sndUna, c.ecnEndSeq);
    }

    /** Section 6.1.2: as for one loss, at most once per window of data. */
    static void reduce(TcpConnection c, Flight f, long now) {
        c.ssthresh = c.congestion.onMarked(c, c.sndNxt - c.sndUna, now);
        c.cwnd = Math.min(c.cwnd, c.ssthresh);
        c.engine.counters.ecnReductions++;
        onReduction(c);
    }

    /** The window was reduced, for whatever reason: the next new data says so. */
    static void onReduction(TcpConnection c) {
        if (c.is(Tcb.ECN_SENDER)) {
            c.set(Tcb.CWR_OWED);
            c.ecnEndSeq = c.sndNxt;
        }
    }
}
