package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.tcp.send.Flight;
import io.rdmaraw.tcp.send.Flight.Limit;
import io.rdmaraw.tcp.send.RecoveryState;
import io.rdmaraw.tcp.send.RecoveryState.Frto;
import io.rdmaraw.tcp.send.RecoveryState.Phase;
import io.rdmaraw.tcp.send.Scoreboard;

/**
 * Decides what a connection sends next and writes it into a {@link Segment}: one call, one segment. The order is:
 * retransmissions, tail loss probe, new data, window or keepalive probe, bare acknowledgement.
 */
final class SegmentOutput {
    private static final int SACK_OPTION_BASE_BYTES = 4;
    private static final int ETHERNET_MSS = 1460;
    private static final int SACK_BLOCK_BYTES = 8;
    private static final int MAY_BE_DUE = Tcb.ACK_NOW | Tcb.PROBE_DUE | Tcb.TAIL_PROBE_DUE | Tcb.FIN_QUEUED | Tcb.ECN;

    private SegmentOutput() {
    }

    /** Returns false if the connection has nothing to send now. */
    static boolean poll(TcpConnection c, long now, Segment out) {
        if (!c.state.synchronizedState()) {
            return c.is(Tcb.SYN_DUE) ? Handshake.sendSyn(c, now, out)
                    : c.is(Tcb.EARLY) && c.flight != null && sendNew(c, c.flight, now, out)
                            || c.state == TcpState.SYN_RECEIVED && acknowledge(c, now, out);
        }
        if (c.is(Tcb.ECN) && AccurateEcn.owesHandshakeAck(c)) {
            // RFC 9768 section 3.2.2.1: alone, before data.
            c.set(Tcb.ACK_NOW);
            return acknowledge(c, now, out);
        }
        Flight f = c.flight;
        if (f != null) {
            boolean open = c.pacer == null || c.pacer.isOpen(now);
            if (open && retransmit(c, f, now, out) || c.is(Tcb.TAIL_PROBE_DUE) && tailLossProbe(c, f, now, out)
                    || open && sendNew(c, f, now, out)) {
                return true;
            }
        }
        if (c.is(Tcb.PROBE_DUE)) {
            // RFC 9293 sections 3.8.4 and 3.8.6.1: a number below the window makes the peer say where it stands.
            c.clear(Tcb.PROBE_DUE);
            begin(c, out, c.sndUna - 1, TcpFlags.ACK, now);
            return true;
        }
        return acknowledge(c, now, out);
    }

    /**
     * Whether {@link #poll} would find nothing to send, by what most connections are told by: where it says no, poll
     * knows.
     */
    static boolean hasSaidAll(TcpConnection c) {
        if (!c.state.synchronizedState() || (c.bits & MAY_BE_DUE) != 0) {
            return false;
        }
        Flight f = c.flight;
        return f == null || f.queue.endSeq() == c.sndNxt && !f.userWaits && f.limit == Limit.NONE
                && f.scoreboard.lostBytes() == 0;
    }

    /** In SYN-RECEIVED too, where a segment that does not fit is answered (RFC 9293 section 3.10.7.4). */
    private static boolean acknowledge(TcpConnection c, long now, Segment out) {
        if (!c.is(Tcb.ACK_NOW)) {
            return false;
        }
        begin(c, out, c.sndNxt, TcpFlags.ACK, now);
        if (c.duplicateAcksOwed > 0) {
            c.duplicateAcksOwed--;
            c.set(Tcb.ACK_NOW);
        }
        return true;
    }

    /** Whether new data could go out but for the congestion window: what Nagle holds back could not. */
    static boolean hasSendableData(TcpConnection c, Flight f) {
        int unsent = f.queue.endSeq() - c.sndNxt;
        int room = c.sndUna + c.sndWnd - c.sndNxt;
        int mss = payloadLimit(c);
        int length = Math.min(Math.min(unsent, mss), room);
        return length > 0 && !isFlightFull(c, f) && (length == mss || mayBeSmall(c, f, unsent, length, isFinDue(c)));
    }

    // ---- retransmission ----

    private static boolean retransmit(TcpConnection c, Flight f, long now, Segment out) {
        Scoreboard sb = f.scoreboard;
        if (sb.lostBytes() == 0) {
            return false;
        }
        RecoveryState r = f.recovery;
        if (r.frto == Frto.SECOND_ACK) {
            if (hasSendableData(c, f)) {
                return false;
            }
            if (Sequence.after(c.sndNxt, r.endSeq)) {
                // RFC 5682 section 3.1 step 2b: new data is out, the next acknowledgement decides.
                return false;
            }
            r.frto = Frto.OFF;
        }
        int first = sb.firstLost();
        int start = sb.startSeq(first);
        int limit = payloadLimit(c);
        int length = Math.min(sb.lengthOf(first), limit);
        int pipe = f.pipeBytes();
        if (pipe > 0 && pipe + length > c.cwnd) {
            return false;
        }
        // A peer that has taken back its window gets the first segment only, as a probe.
        int room = c.sndUna + c.sndWnd - start;
        if (start != c.sndUna && length > room) {
            return false;
        }
        int most = r.oneByOne ? 0 : Math.min(Math.min(limit, room), pipe == 0 ? limit : c.cwnd - pipe);
        return sendAgain(c, f, first, sb.lastLostWithin(first, most), now, out);
    }

    /** Sends the entries from {@code first} to {@code last} again, in one segment. */
    private static boolean sendAgain(TcpConnection c, Flight f, int first, int last, long now, Segment out) {
        Scoreboard sb = f.scoreboard;
        int start = sb.startSeq(first);
        int end = sb.endSeq(last);
        int data = Sequence.min(end, f.queue.endSeq()) - start;
        int limit = payloadLimit(c);
        begin(c, out, start, TcpFlags.ACK, now);
        if (data > 0) {
            int sent = f.queue.slice(start, Math.min(data, limit), c.engine.config.maxSlices, out);
            if (sent < data) {
                // The MSS has fallen since it was sent, or the bytes lie in too many buffers.
                end = start + sent;
            }
            c.engine.counters.payloadBytesOut += sent;
            if (start + sent == f.queue.endSeq()) {
                out.flags |= TcpFlags.PSH;
            }
        }
        if (Sequence.after(end, f.queue.endSeq())) {
            out.flags |= TcpFlags.FIN;
        }
        for (int entry = first; entry != sb.tail() && Sequence.before(sb.startSeq(entry), end); entry++) {
            if (Sequence.after(sb.endSeq(entry), end)) {
                sb.split(entry, end);
            }
            sb.retransmitted(entry, now);
            if (c.rate != null) {
                c.rate.onSent(c, f, entry, now);
            }
        }
        if (c.pacer != null) {
            c.pacer.onSent(end - start, now);
        }
        c.requireExtras().retransmittedBytes += end - start;
        RecoveryState r = f.recovery;
        Recovery.onRetransmission(c, r, now);
        if (r.phase == Phase.FAST) {
            r.prrOut += end - start;
        }
        c.engine.counters.retransmittedSegments++;
        c.retransmittedSegments++;
        c.lastSendNanos = now;
        if (c.retransmitTimer == Tcb.RetransmitTimer.NONE) {
            ConnectionTimers.restart(c, f, now);
        }
        return true;
    }

    /** RFC 8985 section 7.3: new data if there is some and the peer's window takes it, else the last segment again. */
    private static boolean tailLossProbe(TcpConnection c, Flight f, long now, Segment out) {
        c.clear(Tcb.TAIL_PROBE_DUE);
        Scoreboard sb = f.scoreboard;
        if (sb.isEmpty()) {
            return false;
        }
        if (f.recovery.phase != Phase.OPEN) {
            if (sb.isSacked(sb.head())) {
                return false;
            }
            TailLossProbe.onRecoveryProbe(c, f.recovery);
            return sendAgain(c, f, sb.head(), sb.head(), now, out);
        }
        int room = c.sndUna + c.sndWnd - c.sndNxt;
        int limit = payloadLimit(c);
        int length = Math.min(Math.min(f.queue.endSeq() - c.sndNxt, limit), room);
        // A probe is no reason to send what Nagle or the avoidance of silly windows holds back.
        if (length > 0 && (length == limit || c.is(Tcb.NO_DELAY) && !c.isCorked() && length < room)) {
            emitNew(c, f, length, limit, length < room, now, out);
            TailLossProbe.onProbeSent(c, false);
            return true;
        }
        int last = sb.tail() - 1;
        if (sb.isSacked(last)) {
            return false;
        }
        TailLossProbe.onProbeSent(c, true);
        return sendAgain(c, f, last, last, now, out);
    }

    // ---- new data ----

    private static boolean sendNew(TcpConnection c, Flight f, long now, Segment out) {
        int unsent = f.queue.endSeq() - c.sndNxt;
        boolean finDue = isFinDue(c);
        if (unsent <= 0 && !finDue) {
            SendTimes.limited(c, f, f.userWaits ? Limit.SEND_BUFFER : Limit.NONE, now);
            return false;
        }
        int room = c.sndUna + c.sndWnd - c.sndNxt;
        if (room <= 0 || isFlightFull(c, f)) {
            SendTimes.limited(c, f, room <= 0 ? Limit.PEER_WINDOW : Limit.NONE, now);
            return false;
        }
        if (c.extras != null && now >= c.extras.pathMtuExpiryNanos) {
            PathMtu.onExpiry(c, now);
        }
        boolean idle = f.scoreboard.isEmpty() && now - c.lastSendNanos > c.rtoNanos;
        if (idle && c.rate == null) {
            // RFC 5681 section 4.1: after an idle time the window may have lost its meaning.
            c.cwnd = Math.min(c.cwnd, Math.max(initialWindow(c), c.sndMss));
        }
        int mss = payloadLimit(c);
        boolean probe = PathMtu.isProbeDue(c, f);
        if (probe) {
            int large = Handshake.sendMss(c, c.linkMtu) - sackOptionBytes(c);
            // RFC 4821 section 7.4: only within both windows, even with nothing outstanding. A large link's segment may
            // be many small ones. What follows tells early whether it was lost.
            probe = Math.min(unsent, room) > large && f.pipeBytes() + large <= c.cwnd;
            mss = probe ? large : mss;
        }
        int length = Math.min(Math.min(unsent, mss), room);
        if (length < mss && !mayBeSmall(c, f, unsent, length, finDue)) {
            if (f.restBytes == 0) {
                SendTimes.limited(c, f, length == room && room < unsent ? Limit.PEER_WINDOW : Limit.NONE, now);
                return false;
            }
            length = Math.min(length, f.restBytes);
        }
        SendTimes.limited(c, f, Limit.NONE, now);
        int pipe = f.pipeBytes();
        if (pipe > 0 && pipe + length > c.cwnd) {
            c.set(Tcb.CWND_LIMITED);
            return false;
        }
        c.clear(Tcb.OVERRIDE_SWS);
        if (!probe && length == mss && c.engine.segmentationBytes() > mss && !Ecn.setsCwr(c)) {
            length = segmentsAtOnce(c, Math.min(unsent, room), pipe, mss, now);
        }
        if (idle) {
            // Once, when the idle time ends: polls before may have sent nothing.
            c.congestion.onIdle(now - c.lastSendNanos);
        }
        emitNew(c, f, length, mss, length < room, now, out);
        if (probe) {
            PathMtu.onProbeSent(c, now);
        }
        return true;
    }

    private static boolean isFlightFull(TcpConnection c, Flight f) {
        return f.scoreboard.entryCount() >= c.engine.maxSegmentsInFlight;
    }

    /** A server that answers before the handshake is complete keeps its FIN until then. */
    private static boolean isFinDue(TcpConnection c) {
        return c.is(Tcb.FIN_QUEUED) && !c.is(Tcb.FIN_SENT) && c.state.synchronizedState();
    }

    /** Whole segments that the windows let go out together, for the device to cut; one at least. */
    private static int segmentsAtOnce(TcpConnection c, int sendable, int pipe, int mss, long now) {
        int most = Math.min(Math.min(sendable, c.cwnd - pipe), c.engine.segmentationBytes());
        if (c.pacer != null) {
            most = Math.min(most, c.pacer.burstBytes(now));
        }
        return Math.max(mss, most - most % mss);
    }

    /** RFC 9293 section 3.8.6.2.1, the sender's side of silly window avoidance, with Nagle (section 3.7.4). */
    private static boolean mayBeSmall(TcpConnection c, Flight f, int unsent, int length, boolean finDue) {
        boolean idle = f.scoreboard.isEmpty();
        if (length == unsent) {
            // (2) all that is queued: at once if nothing is outstanding, or if the user wants it so
            return finDue || (idle || c.is(Tcb.NO_DELAY)) && !c.isCorked() || c.is(Tcb.OVERRIDE_SWS);
        }
        // (3) a good part of the largest window seen, with nothing outstanding; (4) the override timeout
        return idle && length >= c.maxSndWnd / 2 || c.is(Tcb.OVERRIDE_SWS);
    }

    private static void emitNew(TcpConnection c, Flight f, int length, int mss, boolean roomForFin, long now,
            Segment out) {
        begin(c, out, c.sndNxt, TcpFlags.ACK, now);
        int sent = 0;
        if (length > 0) {
            sent = f.queue.slice(c.sndNxt, length, c.engine.config.maxSlices, out);
            if (sent < length && sent > mss) {
                // The slices ran out within a segment, which is none that the peer should see a part of.
                sent -= sent % mss;
                out.truncate(sent);
            }
            f.restBytes = length < mss ? length - sent : 0;
            c.engine.counters.payloadBytesOut += sent;
            if (c.is(Tcb.ECN_SENDER) && !repeatsSynData(c)) {
                // RFC 3168 section 6.1.5: not on retransmissions, probes and acknowledgements
                out.ecn = Segment.ECN_ECT0;
                if (c.is(Tcb.CWR_OWED)) {
                    c.clear(Tcb.CWR_OWED);
                    out.flags |= TcpFlags.CWR;
                }
            }
        }
        boolean last = c.sndNxt + sent == f.queue.endSeq();
        int end = c.sndNxt + sent;
        if (last && length > 0) {
            // RFC 9293 section 3.9.1.2: the buffered data ends here.
            out.flags |= TcpFlags.PSH;
        }
        if (last && roomForFin && c.is(Tcb.FIN_QUEUED) && c.state.synchronizedState()) {
            out.flags |= TcpFlags.FIN;
            c.set(Tcb.FIN_SENT);
            end++;
        }
        // What the device cuts is lost, acknowledged and repaired piece by piece.
        for (int left = sent; left > mss; left -= mss) {
            append(c, f, f.scoreboard.endSeq() + mss, now);
            out.segmentSize = mss;
        }
        append(c, f, end, now);
        if (c.pacer != null) {
            c.pacer.onSent(end - c.sndNxt, now);
        }
        if (f.recovery.phase == Phase.FAST) {
            f.recovery.prrOut += end - c.sndNxt;
        }
        c.sndNxt = end;
        c.lastSendNanos = now;
        ConnectionTimers.onSent(c, f, now);
        if (c.extras != null && c.isNotSentLow()) {
            // The user may end the connection from within.
            out.retainPayload();
            c.tellWhenNotSentIsLow();
        }
    }

    private static void append(TcpConnection c, Flight f, int end, long now) {
        f.scoreboard.append(end, now);
        if (c.rate != null) {
            c.rate.onSent(c, f, f.scoreboard.tail() - 1, now);
        }
    }

    /** Whether what goes out went with the SYN already, but was not taken (RFC 7413). */
    private static boolean repeatsSynData(TcpConnection c) {
        if (c.fastOpenBytes > 0 && Sequence.afterOrAt(c.sndNxt, c.iss + 1 + c.fastOpenBytes)) {
            c.fastOpenBytes = 0;
        }
        return c.fastOpenBytes > 0;
    }

    /** RFC 6928 section 2; RFC 5681 section 3.1 where the SYN was lost. */
    static int initialWindow(TcpConnection c) {
        int most = c.engine.config.initialWindowSegments;
        // Ten segments are meant to be 14,600 bytes: fewer of larger ones, though two at least.
        int segments = c.is(Tcb.SYN_RETRANSMITTED) ? 1
                : Math.clamp((long) most * ETHERNET_MSS / c.sndMss, Math.min(2, most), most);
        return segments * c.sndMss;
    }

    // ---- common to all ----

    /** Payload that fits beside the options a segment would carry now. */
    private static int payloadLimit(TcpConnection c) {
        return c.sndMss - sackOptionBytes(c);
    }

    private static int sackOptionBytes(TcpConnection c) {
        int blocks = (c.is(Tcb.DSACK_PENDING) ? 1 : 0) + (c.reassembly == null ? 0 : c.reassembly.ranges().count());
        return blocks == 0 || !c.is(Tcb.SACK) ? 0
                : SACK_OPTION_BASE_BYTES + SACK_BLOCK_BYTES * Math.min(blocks, maxSackBlocks(c));
    }

    private static int maxSackBlocks(TcpConnection c) {
        return c.is(Tcb.TIMESTAMPS) ? 3 : 4;
    }

    /** Fills in what every segment of a synchronized connection has; it acknowledges, so nothing is owed after it. */
    static void begin(TcpConnection c, Segment out, int seq, int flags, long now) {
        address(c, out);
        out.seq = seq;
        out.ack = c.rcvNxt;
        out.flags = c.is(Tcb.ECE_OWED) ? flags | TcpFlags.ECE : flags;
        out.window = ReceiveWindow.advertise(c, false);
        if (c.is(Tcb.TIMESTAMPS)) {
            out.timestamps(c.timestamp(now), c.tsRecent);
        }
        boolean handshake = c.is(Tcb.ECN) && AccurateEcn.write(c, out);
        if ((c.reassembly != null || c.is(Tcb.DSACK_PENDING)) && c.is(Tcb.SACK) && !handshake) {
            sackBlocks(c, out);
        }
        AckPolicy.onAckSent(c);
        if (handshake && AccurateEcn.wantsAnotherAck(c)) {
            c.set(Tcb.ACK_NOW);
        }
    }

    private static void sackBlocks(TcpConnection c, Segment out) {
        if (c.is(Tcb.DSACK_PENDING)) {
            // RFC 2883 section 4: the duplicate comes first.
            out.addSack(c.extras.dsackStart, c.extras.dsackEnd);
            c.clear(Tcb.DSACK_PENDING);
        }
        if (c.reassembly != null) {
            c.reassembly.ranges().report(out, maxSackBlocks(c));
        }
    }

    static void address(TcpConnection c, Segment out) {
        out.clear();
        out.source(c.localHigh, c.localLow, c.localPort);
        out.destination(c.remoteHigh, c.remoteLow, c.remotePort);
        out.dscp = c.dscp;
        out.hopLimit = c.hopLimit & 0xFF;
        out.flowLabel = c.flowLabel != 0 || isIpv4(c) ? c.flowLabel : changeFlowLabel(c);
        out.mark = c.mark();
        out.connection = c;
    }

    private static boolean isIpv4(TcpConnection c) {
        return c.remoteHigh == 0 && c.remoteLow >>> 32 == 0xFFFF;
    }

    /**
     * The peer has not answered for a while: routers that choose a path by the flow label may choose another one, as
     * Linux has it (txrehash). Returns the new label.
     */
    static int changeFlowLabel(TcpConnection c) {
        if (!isIpv4(c)) {
            c.flowLabel = c.engine.flowLabels.of(c.localHigh, c.localLow, c.localPort, c.remoteHigh, c.remoteLow,
                    c.remotePort, c.flowLabel);
        }
        return c.flowLabel;
    }
}
