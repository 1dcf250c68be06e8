package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;

/** Processes segments for connections in TIME-WAIT (RFC 9293 section 3.10.7.4, RFC 6191). */
final class TimeWaitInput {
    /** Minimum distance between the last sequence number of the old connection and the ISN of the new one. */
    private static final int ISN_DISTANCE = 1 << 16;
    /**
     * Minimum time in TIME-WAIT before reuse. It ensures that the first timestamp of the new connection is above
     * the last one of the old connection, even if the peer's clock is coarse.
     */
    private static final long REOPEN_AFTER_NANOS = 1_000_000_000L;

    private TimeWaitInput() {
    }

    /** Returns true if the segment is a SYN that may open a new connection; the record is then removed. */
    static boolean process(TcpEngine engine, TimeWaitTable table, int record, Segment s, long now) {
        boolean old = table.hasTimestamps(record) && s.timestamps
                && Sequence.before(s.tsValue, table.tsRecent(record));
        int rcvNxt = table.rcvNxt(record);
        if (s.has(TcpFlags.RST)) {
            // RFC 5961 section 3.2 prevents RSTs with wrong sequence numbers from ending TIME-WAIT early. It does
            // not prevent a RST that answers an ACK of this host (RFC 1337), because its number is exact.
            if (s.seq == rcvNxt && !old && !engine.config.ignoreResetsInTimeWait) {
                engine.counters.resetsIn++;
                table.remove(record);
            } else {
                engine.counters.timeWaitResetsIgnored++;
            }
            return false;
        }
        if ((s.flags & (TcpFlags.SYN | TcpFlags.FIN | TcpFlags.ACK)) == TcpFlags.SYN
                && isNewerSyn(table, record, s, rcvNxt) && engine.hasListener(s)) {
            engine.timeWaitIsn = table.sndNxt(record) + ISN_DISTANCE;
            engine.counters.timeWaitReuses++;
            table.remove(record);
            return true;
        }
        if (s.sequenceLength() == 0) {
            // Two ends that disagree must not answer each other's ACKs for ever (RFC 5961 section 7).
            if ((s.seq != rcvNxt || old)
                    && table.acquireAnswerPermit(record, now, engine.config.challengeAckIntervalNanos)) {
                sendAck(engine, table, record, s, now);
            }
        } else {
            // Our last ACK was lost, or the segment is an old duplicate. RFC 9293: a repeated FIN restarts the 2
            // MSL timer.
            if (s.has(TcpFlags.FIN) && !s.has(TcpFlags.SYN) && !old) {
                table.restart(record, now);
            }
            sendAck(engine, table, record, s, now);
        }
        return false;
    }

    /**
     * Returns whether an active open may reuse the 4-tuple. RFC 9293 section 3.6.1 requires a mechanism that
     * rejects old segments: timestamps (RFC 7323 section 5), as explained in RFC 6191.
     */
    static boolean mayReopen(TimeWaitTable table, int record, long now) {
        return table.hasTimestamps(record) && now - table.startNanos(record) >= REOPEN_AFTER_NANOS;
    }

    /**
     * Initializes {@code c} to follow the connection in the record, with higher sequence numbers. Removes the
     * record.
     */
    static void reopen(TcpConnection c, TimeWaitTable table, int record) {
        c.iss = Sequence.max(c.iss, table.sndNxt(record) + ISN_DISTANCE);
        c.sndUna = c.iss;
        c.sndNxt = c.iss;
        c.ecnEndSeq = c.iss;
        c.rackForwardAck = c.iss;
        // The timestamp clock continues, so that PAWS accepts the new segments as newer.
        c.timestampOffset = table.timestampOffset(record);
        c.engine.counters.timeWaitReuses++;
        table.remove(record);
    }

    /** Returns whether a SYN is provably newer than the old connection (RFC 6191 section 2). */
    private static boolean isNewerSyn(TimeWaitTable table, int record, Segment s, int rcvNxt) {
        if (table.hasTimestamps(record) && s.timestamps && s.tsValue != table.tsRecent(record)) {
            return Sequence.after(s.tsValue, table.tsRecent(record));
        }
        return Sequence.after(s.seq, rcvNxt);
    }

    private static void sendAck(TcpEngine engine, TimeWaitTable table, int record, Segment s, long now) {
        Segment out = engine.replies.add();
        if (out == null) {
            return;
        }
        ReplyQueue.addressReply(s, out, table.soMark(record));
        out.seq = table.sndNxt(record);
        out.ack = table.rcvNxt(record);
        out.flags = TcpFlags.ACK;
        out.window = table.window(record);
        if (table.hasTimestamps(record)) {
            out.timestamps((int) (now / 1_000_000) + table.timestampOffset(record), table.tsRecent(record));
        }
    }
}
