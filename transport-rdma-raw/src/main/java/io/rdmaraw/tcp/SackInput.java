package io.rdmaraw.tcp;

import io.rdmaraw.tcp.congestion.AckSample;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.Sequence;
import io.rdmaraw.tcp.send.Scoreboard;
import io.rdmaraw.tcp.send.SendState;

/** Processes the SACK option at the sender (RFC 2018 section 5, RFC 2883 section 5, RFC 6675 section 5). */
final class SackInput {
    private SackInput() {
    }

    static void process(TcpConnection c, SendState f, Segment s, AckSample sample, long now) {
        int[] blocks = s.sack;
        int count = s.sackCount;
        int from = 0;
        if (isDsack(s)) {
            sample.dsack = true;
            c.requireExtras().duplicatesReported++;
            Recovery.onDuplicateReported(c, f.recovery, blocks[0], blocks[1]);
            from = 1;
        }
        if (f.scoreboard.isEmpty()) {
            return;
        }
        sort(blocks, from, count);
        for (int b = from; b < count; b++) {
            int start = blocks[2 * b];
            int end = blocks[2 * b + 1];
            // Ignore blocks that are empty or lie outside the data in flight.
            if (!Sequence.before(start, end) || Sequence.before(start, c.sndUna) || Sequence.after(end, c.sndNxt)) {
                continue;
            }
            markCovered(c, f, s, start, end, sample, now);
        }
    }

    /**
     * Returns whether the first block is a D-SACK: it lies below the ACK or within the second block (RFC 2883
     * section 4).
     */
    private static boolean isDsack(Segment s) {
        int start = s.sack[0];
        int end = s.sack[1];
        if (Sequence.before(start, s.ack)) {
            return Sequence.before(start, end);
        }
        return s.sackCount > 1 && Sequence.afterOrAt(start, s.sack[2]) && Sequence.beforeOrAt(end, s.sack[3])
                && Sequence.before(start, end);
    }

    /** Sorts the blocks in ascending order, the order in which RACK needs deliveries (RFC 8985 section 6.2). */
    private static void sort(int[] blocks, int from, int count) {
        for (int i = from + 1; i < count; i++) {
            int start = blocks[2 * i];
            int end = blocks[2 * i + 1];
            int j = i - 1;
            while (j >= from && Sequence.after(blocks[2 * j], start)) {
                blocks[2 * j + 2] = blocks[2 * j];
                blocks[2 * j + 3] = blocks[2 * j + 1];
                j--;
            }
            blocks[2 * j + 2] = start;
            blocks[2 * j + 3] = end;
        }
    }

    /**
     * Marks the entries in start..end that are covered completely. A peer may repeat the same ranges in every
     * ACK; entries already SACKed are therefore skipped in one step.
     */
    private static void markCovered(TcpConnection c, SendState f, Segment s, int start, int end, AckSample sample,
            long now) {
        Scoreboard sb = f.scoreboard;
        int entry = sb.find(start);
        while (entry != sb.tail() && Sequence.before(sb.startSeq(entry), end)) {
            sb.visitedEntries++;
            if (sb.isSacked(entry)) {
                entry = sb.firstUnsackedAfter(entry);
                continue;
            }
            if (isCovered(s, sb.startSeq(entry), sb.endSeq(entry))) {
                AckInput.onDelivered(c, sb, entry, f.recovery, s, sample, now);
                sb.markSacked(entry);
                sample.newlySacked = true;
            }
            entry++;
        }
    }

    /**
     * Returns whether one of the blocks covers the entry. The entry at either end of a block may be covered by
     * another one.
     */
    private static boolean isCovered(Segment s, int start, int end) {
        for (int b = 0; b < s.sackCount; b++) {
            if (Sequence.beforeOrAt(s.sack[2 * b], start) && Sequence.afterOrAt(s.sack[2 * b + 1], end)) {
                return true;
            }
        }
        return false;
    }
}
