package io.rdmaraw.testsuite.sim;

import java.util.List;
import java.util.stream.Stream;

/**
 * A protocol bug: in {@code file} of io.rdmaraw.tcp, what a change finds (whitespace does not matter) becomes something
 * else. The core itself knows nothing of it; the test compiles the changed source beside the true one.
 */
record Mutant(String name, String file, List<Change> changes) {
    /** One place in the source. */
    record Change(String find, String replace) {
    }

    private Mutant(String name, String file, String find, String replace) {
        this(name, file, List.of(new Change(find, replace)));
    }

    /** The same bug takes another change: two parts of the core guard against it. */
    private Mutant and(String find, String replace) {
        return new Mutant(name, file, Stream.concat(changes.stream(), Stream.of(new Change(find, replace))).toList());
    }

    static final List<Mutant> ALL = List.of(
            new Mutant("congestion window ignored", "SegmentOutput",
                    "if (pipe > 0 && pipe + length > c.cwnd) { c.set(Tcb.CWND_LIMITED);",
                    "if (pipe < 0) { c.set(Tcb.CWND_LIMITED);"),
            new Mutant("initial window ten times too large", "SegmentOutput", "return segments * c.sndMss;",
                    "return 10 * segments * c.sndMss;"),
            new Mutant("right window edge shrinks", "ReceiveWindow", "int window = offered;",
                    "int window = Math.max(0, offered - 3 * c.receiveMss);"),
            new Mutant("sends beyond the peer's window", "SegmentOutput",
                    "int room = c.sndUna + c.sndWnd - c.sndNxt; if (room <= 0 ||",
                    "int room = c.sndUna + c.sndWnd - c.sndNxt + 2000; if (room <= 0 ||"),
            new Mutant("window scale taken one too high", "Handshake", "s.window << c.sndWndShift",
                    "s.window << (c.sndWndShift + 1)"),
            new Mutant("window of a SYN-ACK scaled", "Handshake",
                    "return s.has(TcpFlags.SYN) ? s.window : s.window << c.sndWndShift;",
                    "return s.window << c.sndWndShift;"),
            new Mutant("SACK off by one", "segment/SackRanges", "out.addSack(starts[i], ends[i]);",
                    "out.addSack(starts[i], ends[i] + 1);"),
            new Mutant("D-SACK off by one", "SegmentOutput", "out.addSack(c.dsackStart, c.dsackEnd);",
                    "out.addSack(c.dsackStart, c.dsackEnd + 1);"),
            new Mutant("retransmission timeout not backed off", "RttEstimator", "return c.backoff == 0 ? c.rtoNanos",
                    "return c.backoff >= 0 ? c.rtoNanos"),
            new Mutant("acknowledgment of unsent data taken", "AckInput", "if (Sequence.after(ack, c.sndNxt) || ",
                    "if ("),
            new Mutant("duplicate bytes delivered", "DataInput", "int skip = Math.max(0, c.rcvNxt - at);",
                    "int skip = 0;"),
            new Mutant("FIN never told to the user", "DataInput",
                    "default -> { } } c.engine.events.peerFinished(c); }", "default -> { } } }"),
            new Mutant("FIN not retransmitted", "SegmentOutput",
                    "if (Sequence.after(end, f.queue.endSeq())) { out.flags |= TcpFlags.FIN; }",
                    "if (Sequence.after(end, f.queue.endSeq()) && data > 0) { out.flags |= TcpFlags.FIN; }"),
            new Mutant("segments to be cut pass the congestion window", "SegmentOutput",
                    "Math.min(Math.min(sendable, c.cwnd - pipe), c.engine.segmentationBytes())",
                    "Math.min(sendable, c.engine.segmentationBytes())"),
            new Mutant("CWR in a segment to be cut", "SegmentOutput",
                    "c.engine.segmentationBytes() > mss && !c.is(Tcb.CWR_OWED)",
                    "c.engine.segmentationBytes() > mss"),
            new Mutant("repeated together beyond the MSS", "SegmentOutput",
                    "int sent = f.queue.slice(start, Math.min(data, limit), c.engine.config.maxSlices, out); "
                            + "if (sent < data) { // The MSS",
                    "int sent = f.queue.slice(start, data, c.engine.config.maxSlices, out); "
                            + "if (sent < data) { // The MSS"),
            new Mutant("timestamp of a cookie lies ahead", "SynCookies",
                    "return Sequence.after(value, timestamp) ? value - (1 << OPTION_BITS) : value;", "return value;"),
            new Mutant("window scale forgotten by a cookie", "SynCookies",
                    "syn.windowScale = (options & 15) == NO_SCALE ? Segment.ABSENT : options & 15;",
                    "syn.windowScale = Segment.ABSENT;"),
            new Mutant("timestamps forgotten by a cookie", "SynCookies",
                    "syn.sackPermitted = (options & 16) != 0;",
                    "syn.sackPermitted = (options & 16) != 0; syn.timestamps = false;"),
            new Mutant("FIN before the last data", "SegmentOutput",
                    "if (last && roomForFin && c.is(Tcb.FIN_QUEUED) && c.state.synchronizedState())",
                    "if (roomForFin && c.is(Tcb.FIN_QUEUED) && !c.is(Tcb.FIN_SENT))"),
            new Mutant("any reset in the window kills", "SegmentInput", "if (!isExactReset(c, s)) {",
                    "if (s.seq == c.rcvNxt - 1) {"),
            new Mutant("SYN in the window kills", "SegmentInput",
                    "c.engine.counters.blindAttackSegments++; AckPolicy.challenge(c, now); return false; } "
                            + "// Without ACK",
                    "c.engine.finish(c, CloseReason.RESET_BY_PEER, CLOSED); return false; } // Without ACK"),
            new Mutant("options not counted against the MSS", "SegmentOutput", "return c.sndMss - sackOptionBytes(c);",
                    "return c.sndMss + 12;"),
            new Mutant("delayed acknowledgment forgotten", "ConnectionTimers",
                    "c.ackDeadlineNanos = Tcb.NEVER; c.set(Tcb.ACK_NOW);", "c.ackDeadlineNanos = Tcb.NEVER;"),
            new Mutant("acknowledges every eighth segment", "AckPolicy", "c.rcvNxt - c.lastAckSent > c.receiveMss ||",
                    "c.rcvNxt - c.lastAckSent > 8 * c.receiveMss ||"),
            new Mutant("no acknowledgment of what is out of order", "DataInput",
                    "AckPolicy.onDisorder(c); if (c.reassembly == null) {", "if (c.reassembly == null) {"),
            new Mutant("timestamp echo off by one", "SegmentOutput", "out.timestamps(c.timestamp(now), c.tsRecent);",
                    "out.timestamps(c.timestamp(now), c.tsRecent + 1);"),
            new Mutant("timestamps run backwards", "Tcb",
                    "return (int) (nowNanos / 1_000_000) + timestampOffset;",
                    "return timestampOffset - (int) (nowNanos / 1_000_000);"),
            new Mutant("congestion mark not echoed", "SegmentOutput",
                    "c.is(Tcb.ECE_OWED) ? flags | TcpFlags.ECE : flags",
                    "flags"),
            new Mutant("ECN used though not agreed", "SegmentOutput",
                    "if (c.is(Tcb.ECN_SENDER) && !repeatsSynData(c)) {", "if (length > 0) {"),
            new Mutant("data of the SYN taken from the wrong place", "Handshake", "queue.slice(c.iss + 1, length,",
                    "queue.slice(c.iss + 1 + length / 2, length - length / 2,"),
            new Mutant("data of the SYN acknowledged and not let go", "Handshake",
                    "c.flight.queue.acknowledge(s.ack);", "c.flight.queue.endSeq();"),
            new Mutant("data of the SYN acknowledged and not delivered", "Handshake",
                    "s.seq++; DataInput.process(c, s, now); s.seq--; s.flags = flags;",
                    "c.rcvNxt += s.payloadLength; s.flags = flags;"),
            new Mutant("no timer for a closed window", "ConnectionTimers",
                    "&& c.retransmitTimer != RetransmitTimer.PERSIST) {",
                    "&& c.retransmitTimer != RetransmitTimer.PERSIST && c.sndWnd > 0) {"),
            new Mutant("no retransmission timer", "ConnectionTimers",
                    "c.setRetransmitTimer(RetransmitTimer.RTO, rtoAt);", "c.stopRetransmitTimer();"),
            new Mutant("Nagle ignored", "SegmentOutput", "return idle || finDue || c.is(Tcb.NO_DELAY);",
                    "return true;"),
            new Mutant("sequence numbers compared as signed", "segment/Sequence",
                    "static boolean before(int a, int b) { return a - b < 0;",
                    "static boolean before(int a, int b) { return a < b;"),
            new Mutant("reneging peer not noticed", "Recovery", "sb.forgetSacks();", "sb.isEmpty();"),
            new Mutant("black hole not noticed", "PathMtu", "if (next < c.mtu && packet > next) {",
                    "if (next < c.mtu && packet < 0) {"),
            new Mutant("held buffer leaks", "DataInput", "buffer.release();", "buffer.refCnt();"),
            new Mutant("acknowledged buffer leaks", "send/SendQueue", "release(buffers[head]); buffers[head] = null;",
                    "buffers[head] = null;"),
            new Mutant("retransmits from the wrong offset", "send/SendQueue",
                    "places[2 * slot + 1] + (at - places[2 * slot])",
                    "places[2 * slot + 1] + (at == startSeq ? 0 : at - places[2 * slot])"),
            new Mutant("PAWS takes the newest for the oldest", "SegmentInput",
                    "Sequence.afterOrAt(s.tsValue, c.tsRecent) || s.has(TcpFlags.RST)",
                    "Sequence.beforeOrAt(s.tsValue, c.tsRecent) || s.has(TcpFlags.RST)"),
            new Mutant("DCTCP echoes a mark for ever", "Ecn", "c.assign(Tcb.ECE_OWED, marked);",
                    "c.set(Tcb.ECE_OWED);"),
            // Found by hostile peers.
            new Mutant("half-open connection without a timer", "Handshake",
                    "if (c.retransmitTimer == RetransmitTimer.NONE) { c.setRetransmitTimer(RetransmitTimer.SYN,",
                    "if (!c.is(Tcb.PASSIVE_OPEN)) { c.setRetransmitTimer(RetransmitTimer.SYN,"),
            new Mutant("half-open connection left by a cookie", "ListenInput",
                    "if (s.timestamps && !SynCookies.echoesOurTime(engine, s, now)) {", "if (s.seq == s.ack) {")
                    .and("if (c.state == TcpState.SYN_RECEIVED) { // No SYN-ACK",
                            "if (s.seq == s.ack) { // No SYN-ACK"),
            new Mutant("closed connection lives as long as its peer answers", "Orphans",
                    "if (entry == null || entry.sinceNanos == Tcb.FROM_NOW || c.flight == null) {",
                    "if (entry == null || c.flight != null) {"),
            new Mutant("each block reported again is walked again", "SackInput",
                    "entry = sb.behindSacked(entry); continue;", "entry++; continue;"),
            new Mutant("each acknowledgment looks at all that is in flight", "Rack",
                    "return c.rackSentNanos + c.rackRttNanos + window - now; }", "entry = next; continue; }"),
            new Mutant("small pieces keep their slots", "Reassembly",
                    "boolean small = copy || end - start < COPY_BREAK_BYTES;", "boolean small = copy;")
                    .and("if (!small && until - at >= leastInPlace) {", "if (!small) {")
                    .and("from, Math.max(until - at, buffer.capacity())) + 1;", "from, until - at) + 1;"),
            new Mutant("ranges out of order without a bound", "DataInput",
                    "boolean full = held.ranges().count() >= c.engine.config.limits.maxOutOfOrderRanges",
                    "boolean full = held.ranges().count() < 0"),
            new Mutant("round trip time believed from a cookie", "Handshake",
                    "if (c.lastSendNanos != Tcb.NEVER) {", "if (c.lastSendNanos != 0) {"),
            new Mutant("each loop has keys of its own", "TcpEngine",
                    "config.secrets != null ? config.secrets : new TcpSecrets(random)",
                    "new TcpSecrets(random)"));
}
