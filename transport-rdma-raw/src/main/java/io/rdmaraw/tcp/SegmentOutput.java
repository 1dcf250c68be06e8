package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.tcp.send.RecoveryState;
import io.rdmaraw.tcp.send.RecoveryState.Frto;
import io.rdmaraw.tcp.send.RecoveryState.Phase;
import io.rdmaraw.tcp.send.Scoreboard;
import io.rdmaraw.tcp.send.SendState;
import io.rdmaraw.tcp.send.SendState.Limit;

/**
 * Selects the next segment of a connection and writes it into a {@link Segment}. Each call produces one segment.
 * The order is: retransmissions, tail loss probe, new data, window or keepalive probe, bare ACK.
 */
final class SegmentOutput {
    private static final int ETHERNET_MSS = 1460;
    private static final int MAY_BE_DUE = Tcb.ACK_NOW | Tcb.PROBE_DUE | Tcb.TLP_DUE | Tcb.FIN_QUEUED | Tcb.ECN;

    private SegmentOutput() {
    }

    /** Writes the next segment. Returns false if the connection has nothing to send now. */
    static boolean poll(TcpConnection c, long now, Segment out) {
        if (!c.state.isSynchronized()) {
            return c.is(Tcb.SYN_DUE) ? Handshake.sendSyn(c, now, out)
                    : c.is(Tcb.ACCEPTED_EARLY) && c.sendState != null && sendNew(c, c.sendState, now, out)
                            || c.state == TcpState.SYN_RECEIVED && sendAck(c, now, out);
        }
        if (c.is(Tcb.ECN) && AccurateEcn.hasPendingHandshakeAck(c)) {
            // RFC 9768 section 3.2.2.1: the ACK of the handshake is sent alone, before data.
            c.set(Tcb.ACK_NOW);
            return sendAck(c, now, out);
        }
        SendState f = c.sendState;
        if (f != null) {
            boolean open = c.pacer == null || c.pacer.checkOpen(now);
            if (open && retransmit(c, f, now, out) || c.is(Tcb.TLP_DUE) && sendTailLossProbe(c, f, now, out)
                    || open && sendNew(c, f, now, out)) {
                return true;
            }
        }
        if (c.is(Tcb.PROBE_DUE)) {
            // RFC 9293 sections 3.8.4 and 3.8.6.1: a sequence number below the window makes the peer answer with
            // its state.
            c.clear(Tcb.PROBE_DUE);
            begin(c, out, c.sndUna - 1, TcpFlags.ACK, now);
            return true;
        }
        return sendAck(c, now, out);
    }

    /**
     * A cheap check for "nothing to send" that covers most connections. May return false although {@link #poll}
     * would find nothing; if it returns true, poll returns false.
     */
    static boolean hasNothingToSend(TcpConnection c) {
        if (!c.state.isSynchronized() || (c.bits & MAY_BE_DUE) != 0) {
            return false;
        }
        SendState f = c.sendState;
        return f == null || f.queue.endSeq() == c.sndNxt && !f.awaitingSendRoom && f.limit == Limit.NONE
                && f.scoreboard.lostBytes() == 0;
    }

    /**
     * Writes an ACK if one is due. Also used in SYN-RECEIVED, to answer unacceptable segments (RFC 9293 section
     * 3.10.7.4).
     */
    private static boolean sendAck(TcpConnection c, long now, Segment out) {
        if (!c.is(Tcb.ACK_NOW)) {
            return false;
        }
        begin(c, out, c.sndNxt, TcpFlags.ACK, now);
        if (c.pendingDuplicateAcks > 0) {
            c.pendingDuplicateAcks--;
            c.set(Tcb.ACK_NOW);
        }
        return true;
    }

    /**
     * Returns whether the congestion window is the only possible obstacle to sending new data. False if the Nagle
     * algorithm or the peer's window holds it back.
     */
    static boolean hasSendableData(TcpConnection c, SendState f) {
        int unsent = f.queue.endSeq() - c.sndNxt;
        int room = c.sndUna + c.sndWnd - c.sndNxt;
        int mss = payloadLimit(c);
        int length = Math.min(Math.min(unsent, mss), room);
        return length > 0 && !isFlightFull(c, f) && (length == mss || maySendSmall(c, f, unsent, length, isFinDue(c)));
    }

    // ---- retransmission ----

    private static boolean retransmit(TcpConnection c, SendState f, long now, Segment out) {
        Scoreboard sb = f.scoreboard;
        if (sb.lostBytes() == 0) {
            return false;
        }
        RecoveryState r = f.recovery;
        if (r.frto == Frto.SECOND_ACK) {
            if (hasSendableData(c, f)) {
                return false;
            }
            if (Sequence.after(c.sndNxt, r.recoveryPoint)) {
                // RFC 5682 section 3.1 step 2b: new data was sent, so the next ACK decides.
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
        // If the peer has shrunk its window, only the first segment is retransmitted, as a probe.
        int room = c.sndUna + c.sndWnd - start;
        if (start != c.sndUna && length > room) {
            return false;
        }
        int maxBytes = r.oneByOne ? 0 : Math.min(Math.min(limit, room), pipe == 0 ? limit : c.cwnd - pipe);
        return retransmitEntries(c, f, first, sb.lastLostWithin(first, maxBytes), now, out);
    }

    /** Retransmits the entries from {@code first} to {@code last} in one segment. */
    private static boolean retransmitEntries(TcpConnection c, SendState f, int first, int last, long now, Segment out) {
        Scoreboard sb = f.scoreboard;
        int start = sb.startSeq(first);
        int end = sb.endSeq(last);
        int data = Sequence.min(end, f.queue.endSeq()) - start;
        int limit = payloadLimit(c);
        begin(c, out, start, TcpFlags.ACK, now);
        if (data > 0) {
            int sent = f.queue.slice(start, Math.min(data, limit), c.engine.config.maxSlices, out);
            if (sent < data) {
                // The MSS has shrunk since the first transmission, or the bytes lie in too many buffers.
                end = start + sent;
            }
            c.engine.counters.payloadBytesOut += sent;
        }
        if (Sequence.after(end, f.queue.endSeq())) {
            out.flags |= TcpFlags.FIN;
        }
        for (int entry = first; entry != sb.tail() && Sequence.before(sb.startSeq(entry), end); entry++) {
            if (Sequence.after(sb.endSeq(entry), end)) {
                sb.split(entry, end);
            }
            sb.markRetransmitted(entry, now);
            if (c.rate != null) {
                c.rate.onSent(c, f, entry, now);
            }
        }
        if (c.pacer != null) {
            c.pacer.onSent(end - start, now);
        }
        c.requireExtras().retransmittedBytes += end - start;
        RecoveryState r = f.recovery;
        Recovery.onRetransmission(c, r, end, now);
        if (r.phase == Phase.FAST) {
            r.prrOut += end - start;
        }
        c.engine.counters.retransmittedSegments++;
        c.retransmittedSegments++;
        c.lastSendNanos = now;
        if (c.retransmitTimer == Tcb.RetransmitTimer.NONE) {
            ConnectionTimers.restartRetransmitTimer(c, f, now);
        }
        return true;
    }

    /**
     * Sends a tail loss probe: new data if there is some and the peer's window allows it, otherwise the last
     * segment again (RFC 8985 section 7.3).
     */
    private static boolean sendTailLossProbe(TcpConnection c, SendState f, long now, Segment out) {
        c.clear(Tcb.TLP_DUE);
        Scoreboard sb = f.scoreboard;
        if (sb.isEmpty()) {
            return false;
        }
        if (f.recovery.phase != Phase.OPEN) {
            if (sb.isSacked(sb.head())) {
                return false;
            }
            TailLossProbe.onRecoveryProbe(c, f.recovery);
            return retransmitEntries(c, f, sb.head(), sb.head(), now, out);
        }
        int room = c.sndUna + c.sndWnd - c.sndNxt;
        int limit = payloadLimit(c);
        int length = Math.min(Math.min(f.queue.endSeq() - c.sndNxt, limit), room);
        // A probe does not override Nagle or the avoidance of silly windows.
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
        return retransmitEntries(c, f, last, last, now, out);
    }

    // ---- new data ----

    private static boolean sendNew(TcpConnection c, SendState f, long now, Segment out) {
        int unsent = f.queue.endSeq() - c.sndNxt;
        boolean finDue = isFinDue(c);
        if (unsent <= 0 && !finDue) {
            SendTimeStatistics.setLimit(c, f, f.awaitingSendRoom ? Limit.SEND_BUFFER : Limit.NONE, now);
            return false;
        }
        int room = c.sndUna + c.sndWnd - c.sndNxt;
        if (room <= 0 || isFlightFull(c, f)) {
            SendTimeStatistics.setLimit(c, f, room <= 0 ? Limit.PEER_WINDOW : Limit.NONE, now);
            return false;
        }
        if (c.extras != null && now >= c.extras.pathMtuExpiryNanos) {
            PathMtu.onExpiry(c, now);
        }
        boolean idle = f.scoreboard.isEmpty() && now - c.lastSendNanos > c.rtoNanos;
        if (idle && c.rate == null) {
            // RFC 5681 section 4.1: the congestion window is outdated after an idle period.
            c.cwnd = Math.min(c.cwnd, Math.max(initialWindow(c), c.sndMss));
        }
        int mss = payloadLimit(c);
        boolean probe = PathMtu.isProbeDue(c, f);
        if (probe) {
            int large = Handshake.sndMssFor(c, c.linkMtu) - optionBytes(c);
            // RFC 4821 section 7.4: a probe must fit into both windows, even with nothing in flight, as it may be
            // as large as many small segments. Data must follow it, so that its loss is detected early.
            probe = Math.min(unsent, room) > large && f.pipeBytes() + large <= c.cwnd;
            mss = probe ? large : mss;
        }
        int length = Math.min(Math.min(unsent, mss), room);
        if (length < mss && !maySendSmall(c, f, unsent, length, finDue)) {
            if (f.splitRestBytes == 0) {
                SendTimeStatistics.setLimit(c, f, length == room && room < unsent ? Limit.PEER_WINDOW : Limit.NONE,
                        now);
                return false;
            }
            length = Math.min(length, f.splitRestBytes);
        }
        SendTimeStatistics.setLimit(c, f, Limit.NONE, now);
        int pipe = f.pipeBytes();
        if (pipe > 0 && pipe + length > c.cwnd) {
            c.set(Tcb.CWND_LIMITED);
            return false;
        }
        c.clear(Tcb.OVERRIDE_SWS);
        if (!probe && length == mss && c.engine.segmentationBytes() > mss && !Ecn.setsCwr(c)) {
            length = tsoPayloadBytes(c, Math.min(unsent, room), pipe, mss, now);
        }
        if (idle) {
            // The idle period ends with this segment. Earlier polls may have sent nothing.
            c.congestion.onIdle(now - c.lastSendNanos);
        }
        emitNew(c, f, length, mss, length < room, now, out);
        if (probe) {
            PathMtu.onProbeSent(c, now);
        }
        return true;
    }

    private static boolean isFlightFull(TcpConnection c, SendState f) {
        return f.scoreboard.entryCount() >= c.engine.maxSegmentsInFlight;
    }

    /**
     * Returns whether a FIN is to be sent. A connection accepted early does not send its FIN before the handshake
     * is complete.
     */
    private static boolean isFinDue(TcpConnection c) {
        return c.is(Tcb.FIN_QUEUED) && !c.is(Tcb.FIN_SENT) && c.state.isSynchronized();
    }

    /**
     * Returns the size of a segment for segmentation offload, in bytes: the whole segments that both windows
     * allow, at least one.
     */
    private static int tsoPayloadBytes(TcpConnection c, int sendable, int pipe, int mss, long now) {
        int maxBytes = Math.min(Math.min(sendable, c.cwnd - pipe), c.engine.segmentationBytes());
        if (c.pacer != null) {
            maxBytes = Math.min(maxBytes, c.pacer.burstBytes(now));
        }
        return Math.max(mss, maxBytes - maxBytes % mss);
    }

    /**
     * Returns whether a segment smaller than the MSS may be sent now. This implements silly window avoidance of the
     * sender (RFC 9293 section 3.8.6.2.1) with Nagle's algorithm (section 3.7.4). As in Linux (tcp_minshall_check),
     * Nagle's algorithm waits only while another small segment is unacknowledged. The tail of a large write is
     * therefore sent at once.
     */
    private static boolean maySendSmall(TcpConnection c, SendState f, int unsent, int length, boolean finDue) {
        boolean idle = f.scoreboard.isEmpty();
        if (length == unsent) {
            // (2) All queued data fits. Send it if no small segment is unacknowledged, or if TCP_NODELAY is set.
            // An end beyond SND.NXT is that of a segment before the sequence numbers have wrapped.
            boolean smallsAcked = idle || Sequence.beforeOrAt(f.smallEndSeq, c.sndUna)
                    || Sequence.after(f.smallEndSeq, c.sndNxt);
            return finDue || (smallsAcked || c.is(Tcb.NO_DELAY)) && !c.isCorked() || c.is(Tcb.OVERRIDE_SWS);
        }
        // (3) At least half of the largest window seen, with nothing in flight. (4) The override timeout.
        return idle && length >= c.maxSndWnd / 2 || c.is(Tcb.OVERRIDE_SWS);
    }

    private static void emitNew(TcpConnection c, SendState f, int length, int mss, boolean roomForFin, long now,
            Segment out) {
        begin(c, out, c.sndNxt, TcpFlags.ACK, now);
        int sent = 0;
        if (length > 0) {
            sent = f.queue.slice(c.sndNxt, length, c.engine.config.maxSlices, out);
            if (sent < length && sent > mss) {
                // The slices ended within a segment. Remove the incomplete one; the peer should see only full
                // ones.
                sent -= sent % mss;
                out.truncate(sent);
            }
            f.splitRestBytes = length < mss ? length - sent : 0;
            if (sent % mss != 0) {
                f.smallEndSeq = c.sndNxt + sent;
            }
            c.engine.counters.payloadBytesOut += sent;
            if (c.is(Tcb.ECN_SENDER) && !repeatsSynData(c)) {
                // RFC 3168 section 6.1.5: retransmissions, probes and ACKs get ECT only with accurate feedback.
                out.ecn = Segment.ECN_ECT0;
                if (c.is(Tcb.CWR_PENDING)) {
                    c.clear(Tcb.CWR_PENDING);
                    out.flags |= TcpFlags.CWR;
                }
            }
        }
        int end = c.sndNxt + sent;
        if (end == f.queue.endSeq() && roomForFin && c.is(Tcb.FIN_QUEUED) && c.state.isSynchronized()) {
            out.flags |= TcpFlags.FIN;
            c.set(Tcb.FIN_SENT);
            end++;
        }
        // Each segment that the device creates can be lost or acknowledged separately, so each has its own entry.
        for (int left = sent; left > mss; left -= mss) {
            append(c, f, f.scoreboard.endSeq() + mss, now);
            out.segmentSizeBytes = mss;
        }
        if (sent > mss) {
            // As on Linux, a TSO frame has PSH, so that the receiver's GRO delivers the run (__tcp_transmit_skb).
            out.flags |= TcpFlags.PSH;
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
            // The user may end the connection within the notification.
            out.retainPayload();
            c.notifyIfNotSentLow();
        }
    }

    private static void append(TcpConnection c, SendState f, int end, long now) {
        f.scoreboard.append(end, now);
        if (c.rate != null) {
            c.rate.onSent(c, f, f.scoreboard.tail() - 1, now);
        }
    }

    /** Returns whether the data was already sent with the SYN but not accepted by the server (RFC 7413). */
    private static boolean repeatsSynData(TcpConnection c) {
        if (c.synDataBytes > 0 && Sequence.afterOrAt(c.sndNxt, c.iss + 1 + c.synDataBytes)) {
            c.synDataBytes = 0;
        }
        return c.synDataBytes > 0;
    }

    /**
     * Returns the initial congestion window (RFC 6928 section 2); one segment if the SYN was lost (RFC 5681
     * section 3.1).
     */
    static int initialWindow(TcpConnection c) {
        int maxSegments = c.engine.config.initialWindowSegments;
        // The limit of ten segments stands for 14,600 bytes. Larger segments are fewer, but at least two.
        int segments = c.is(Tcb.SYN_RETRANSMITTED) ? 1
                : Math.clamp((long) maxSegments * ETHERNET_MSS / c.sndMss, Math.min(2, maxSegments), maxSegments);
        return segments * c.sndMss;
    }

    // ---- common to all segments ----

    /** Returns the payload of a full-sized segment with the options that it would carry now. */
    private static int payloadLimit(TcpConnection c) {
        return c.sndMss - optionBytes(c);
    }

    /** Returns the length of the options that vary: SACK and AccECN. */
    private static int optionBytes(TcpConnection c) {
        int blocks = sackBlocks(c);
        AccEcnOption option = c.is(Tcb.ECN) ? AccEcnOption.sentBy(c) : null;
        if (option == null) {
            return AccEcnOption.sackOptionBytes(blocks);
        }
        blocks = option.sackBlocks(blocks, c.is(Tcb.TIMESTAMPS));
        return AccEcnOption.sackOptionBytes(blocks) + option.lengthBytes(blocks, c.is(Tcb.TIMESTAMPS));
    }

    /** Returns the number of SACK blocks that fit beside the timestamps. */
    private static int sackBlocks(TcpConnection c) {
        if (c.reassembly == null && !c.is(Tcb.DSACK_PENDING) || !c.is(Tcb.SACK)) {
            return 0;
        }
        int blocks = (c.is(Tcb.DSACK_PENDING) ? 1 : 0) + (c.reassembly == null ? 0 : c.reassembly.ranges().count());
        return Math.min(blocks, c.is(Tcb.TIMESTAMPS) ? 3 : 4);
    }

    /**
     * Writes the header of a segment of a synchronized connection. It includes an ACK, so no ACK is owed
     * afterwards.
     */
    static void begin(TcpConnection c, Segment out, int seq, int flags, long now) {
        address(c, out);
        out.seq = seq;
        out.ack = c.rcvNxt;
        out.flags = c.is(Tcb.ECE_PENDING) ? flags | TcpFlags.ECE : flags;
        out.window = ReceiveWindow.advertise(c, false);
        if (c.is(Tcb.TIMESTAMPS)) {
            out.timestamps(c.timestamp(now), c.tsRecent);
        }
        boolean handshake = c.is(Tcb.ECN) && AccurateEcn.write(c, out);
        int sackBlocks = handshake ? 0 : sackBlocks(c);
        AccEcnOption option = c.is(Tcb.ECN) ? AccEcnOption.sentBy(c) : null;
        if (option != null) {
            sackBlocks = option.sackBlocks(sackBlocks, c.is(Tcb.TIMESTAMPS));
            option.write(out, option.lengthBytes(sackBlocks, c.is(Tcb.TIMESTAMPS)));
        }
        if (sackBlocks > 0) {
            writeSackBlocks(c, out, sackBlocks);
        }
        AckPolicy.onAckSent(c);
        if (handshake && AccurateEcn.needsSecondAck(c)) {
            c.set(Tcb.ACK_NOW);
        }
    }

    private static void writeSackBlocks(TcpConnection c, Segment out, int maxBlocks) {
        if (c.is(Tcb.DSACK_PENDING)) {
            // RFC 2883 section 4: the D-SACK block comes first.
            out.addSack(c.extras.dsackStart, c.extras.dsackEnd);
            c.clear(Tcb.DSACK_PENDING);
        }
        if (c.reassembly != null) {
            c.reassembly.ranges().writeBlocks(out, maxBlocks);
        }
    }

    static void address(TcpConnection c, Segment out) {
        out.clear();
        out.source(c.localHigh, c.localLow, c.localPort);
        out.destination(c.remoteHigh, c.remoteLow, c.remotePort);
        out.dscp = c.dscp;
        out.hopLimit = c.hopLimit & 0xFF;
        out.flowLabel = c.flowLabel != 0 || isIpv4(c) ? c.flowLabel : changeFlowLabel(c);
        out.soMark = c.soMark();
        out.peerMac = c.peerMac;
        out.connection = c;
    }

    private static boolean isIpv4(TcpConnection c) {
        return c.remoteHigh == 0 && c.remoteLow >>> 32 == 0xFFFF;
    }

    /**
     * Changes the IPv6 flow label after a timeout, so that routers that hash it may choose another path (Linux:
     * txrehash). Returns the new label.
     */
    static int changeFlowLabel(TcpConnection c) {
        if (!isIpv4(c)) {
            c.flowLabel = c.engine.flowLabels.of(c.localHigh, c.localLow, c.localPort, c.remoteHigh, c.remoteLow,
                    c.remotePort, c.flowLabel);
        }
        return c.flowLabel;
    }
}
