package io.rdmaraw.tcp;

/** The SACK option as the sender of data reads it (RFC 2018 section 5, RFC 2883 section 5, RFC 6675 section 5). */
final class SackInput {
    private SackInput() {
    }

    static void process(TcpConnection c, Flight f, Segment s, AckSample sample, long now) {
        int[] blocks = s.sack;
        int count = s.sackCount;
        int from = 0;
        if (isDsack(s)) {
            sample.dsack = true;
            Recovery.onDuplicateReported(f.recovery, blocks[0], blocks[1]);
            from = 1;
        }
        RecoveryState r = f.recovery;
        if (f.scoreboard.isEmpty()) {
            r.lastSackCount = 0;
            return;
        }
        sort(blocks, from, count);
        for (int b = from; b < count; b++) {
            int start = blocks[2 * b];
            int end = blocks[2 * b + 1];
            // Only what lies in the window and isn't empty; a block of nonsense says nothing.
            if (!Sequence.before(start, end) || Sequence.before(start, c.sndUna) || Sequence.after(end, c.sndNxt)) {
                continue;
            }
            markNew(c, f, s, start, end, sample, now);
        }
        r.lastSackCount = count - from;
        System.arraycopy(blocks, 2 * from, r.lastSack, 0, 2 * (count - from));
    }

    /** RFC 2883 section 4: the first block lies below the acknowledgement or inside the second. */
    private static boolean isDsack(Segment s) {
        int start = s.sack[0];
        int end = s.sack[1];
        if (Sequence.before(start, s.ack)) {
            return Sequence.before(start, end);
        }
        return s.sackCount > 1 && Sequence.afterOrAt(start, s.sack[2]) && Sequence.beforeOrAt(end, s.sack[3])
                && Sequence.before(start, end);
    }

    /** In ascending order, as RACK wants what is delivered (RFC 8985 section 6.2). */
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

    /** Walks a block, but not the part of it that the last acknowledgement reported already. */
    private static void markNew(TcpConnection c, Flight f, Segment s, int start, int end, AckSample sample, long now) {
        RecoveryState r = f.recovery;
        int at = start;
        for (int b = 0; b < r.lastSackCount; b++) {
            int knownStart = r.lastSack[2 * b];
            int knownEnd = r.lastSack[2 * b + 1];
            if (Sequence.beforeOrAt(knownEnd, at) || Sequence.afterOrAt(knownStart, end)) {
                continue;
            }
            if (Sequence.before(at, knownStart)) {
                mark(c, f, s, at, knownStart, sample, now);
            }
            at = Sequence.min(end, knownEnd);
        }
        if (Sequence.before(at, end)) {
            mark(c, f, s, at, end, sample, now);
        }
    }

    /**
     * Marks what of start..end covers whole segments. The segment at each end may be covered together with a part known
     * before, so the neighbours' coverage is looked up in the blocks themselves.
     */
    private static void mark(TcpConnection c, Flight f, Segment s, int start, int end, AckSample sample, long now) {
        Scoreboard sb = f.scoreboard;
        for (int entry = sb.find(start); entry != sb.tail() && Sequence.before(sb.startSeq(entry), end); entry++) {
            if (!sb.isSacked(entry) && isCovered(s, sb.startSeq(entry), sb.endSeq(entry))) {
                AckInput.onDelivered(c, sb, entry, f.recovery, s, sample, now);
                sb.markSacked(entry);
                sample.newlySacked = true;
            }
        }
    }

    private static boolean isCovered(Segment s, int start, int end) {
        for (int b = 0; b < s.sackCount; b++) {
            if (Sequence.beforeOrAt(s.sack[2 * b], start) && Sequence.afterOrAt(s.sack[2 * b + 1], end)) {
                return true;
            }
        }
        return false;
    }
}
