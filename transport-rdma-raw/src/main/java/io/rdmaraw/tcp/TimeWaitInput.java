package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.segment.TcpFlags;

/** A segment for a connection in TIME-WAIT (RFC 9293 section 3.10.7.4, RFC 6191). */
final class TimeWaitInput {
    /** How far the ISN of a new connection lies beyond the old one's last number at least. */
    private static final int ISN_DISTANCE = 1 << 16;
    /**
     * So that the first timestamp of the new connection is above the last of the old one, with a peer's coarse clock.
     */
    private static final long REOPEN_AFTER_NANOS = 1_000_000_000L;

    private TimeWaitInput() {
    }

    /** Returns true if the segment is a SYN that may open a new connection; the record is gone then. */
    static boolean process(TcpEngine engine, TimeWaitTable table, int record, Segment s, long now) {
        boolean old = table.hasTimestamps(record) && s.timestamps
                && Sequence.before(s.tsValue, table.tsRecent(record));
        int rcvNxt = table.rcvNxt(record);
        if (s.has(TcpFlags.RST)) {
            // RFC 5961 section 3.2 keeps RSTs with wrong numbers from ending TIME-WAIT early, but not the one that an
            // answer of ours has provoked (RFC 1337): that is exact.
            if (s.seq == rcvNxt && !old && !engine.config.ignoreResetsInTimeWait) {
                engine.counters.resetsIn++;
                table.remove(record);
            } else {
                engine.counters.timeWaitResetsIgnored++;
            }
            return false;
        }
        if ((s.flags & (TcpFlags.SYN | TcpFlags.FIN | TcpFlags.ACK)) == TcpFlags.SYN
                && mayReuse(table, record, s, rcvNxt)) {
            engine.timeWaitIsn = table.sndNxt(record) + ISN_DISTANCE;
            engine.counters.timeWaitReuses++;
            table.remove(record);
            return true;
        }
        if (s.sequenceLength() == 0) {
            // Two ends that disagree must not acknowledge each other's acknowledgements for ever (RFC 5961 section 7).
            if ((s.seq != rcvNxt || old)
                    && table.mayAnswer(record, now, engine.config.challengeAckIntervalNanos)) {
                acknowledge(engine, table, record, s, now);
            }
        } else {
            // The last ACK was lost, or it is an old duplicate. RFC 9293: a FIN again restarts the 2 MSL.
            if (s.has(TcpFlags.FIN) && !s.has(TcpFlags.SYN) && !old) {
                table.restart(record, now);
            }
            acknowledge(engine, table, record, s, now);
        }
        return false;
    }

    /**
     * Whether we may open the connection anew ourselves. RFC 9293 section 3.6.1 leaves that to a mechanism that keeps
     * old segments out: timestamps (RFC 7323 section 5), by the reasoning of RFC 6191.
     */
    static boolean mayReopen(TimeWaitTable table, int record, long now) {
        return table.hasTimestamps(record) && now - table.sinceNanos(record) >= REOPEN_AFTER_NANOS;
    }

    /** {@code c} is about to open what the record remembers: it begins beyond that, and the record goes. */
    static void reopen(TcpConnection c, TimeWaitTable table, int record) {
        c.iss = Sequence.max(c.iss, table.sndNxt(record) + ISN_DISTANCE);
        c.sndUna = c.iss;
        c.sndNxt = c.iss;
        c.ecnEndSeq = c.iss;
        c.rackForwardAck = c.iss;
        // The clock goes on, so that PAWS takes the new segments for newer ones.
        c.timestampOffset = table.timestampOffset(record);
        c.engine.counters.timeWaitReuses++;
        table.remove(record);
    }

    /** RFC 6191 section 2: a SYN that is provably newer than the old connection. */
    private static boolean mayReuse(TimeWaitTable table, int record, Segment s, int rcvNxt) {
        if (table.hasTimestamps(record) && s.timestamps && s.tsValue != table.tsRecent(record)) {
            return Sequence.after(s.tsValue, table.tsRecent(record));
        }
        return Sequence.after(s.seq, rcvNxt);
    }

    private static void acknowledge(TcpEngine engine, TimeWaitTable table, int record, Segment s, long now) {
        Segment out = engine.replies.add();
        if (out == null) {
            return;
        }
        ReplyQueue.answer(s, out, table.mark(record));
        out.seq = table.sndNxt(record);
        out.ack = table.rcvNxt(record);
        out.flags = TcpFlags.ACK;
        out.window = table.window(record);
        if (table.hasTimestamps(record)) {
            out.timestamps((int) (now / 1_000_000) + table.timestampOffset(record), table.tsRecent(record));
        }
    }
}
