package io.rdmaraw.tcp.segment;

import java.util.Arrays;

/**
 * The ranges of sequence numbers received beyond RCV.NXT, sorted, and the order in which segments for them arrived. The
 * SACK option reports them (RFC 2018 section 4). A FIN received out of order is part of its range.
 */
public final class SackRanges {
    private static final int INITIAL_CAPACITY = 8;

    private int[] starts = new int[INITIAL_CAPACITY];
    private int[] ends = new int[INITIAL_CAPACITY];
    private int count;
    /**
     * First sequence numbers of the last segments added, most recent first. Several may be in one range, or in none.
     */
    private final int[] recent = new int[Segment.MAX_SACK_BLOCKS];
    private int recentCount;

    public boolean isEmpty() {
        return count == 0;
    }

    public int count() {
        return count;
    }

    public void clear() {
        count = 0;
        recentCount = 0;
    }

    /**
     * Adds start..end (exclusive) and merges it with overlapping or adjacent ranges. Returns false if it was
     * already covered.
     */
    public boolean add(int start, int end) {
        int i = firstEndingAtOrAfter(start);
        addRecent(start);
        if (i < count && Sequence.beforeOrAt(starts[i], start) && Sequence.afterOrAt(ends[i], end)) {
            return false;
        }
        if (i == count || Sequence.before(end, starts[i])) {
            insert(i, start, end);
            return true;
        }
        starts[i] = Sequence.min(starts[i], start);
        ends[i] = Sequence.max(ends[i], end);
        int j = i + 1;
        while (j < count && Sequence.beforeOrAt(starts[j], ends[i])) {
            ends[i] = Sequence.max(ends[i], ends[j]);
            j++;
        }
        remove(i + 1, j);
        return true;
    }

    /** Returns whether start..end overlaps or is adjacent to an existing range. */
    public boolean touches(int start, int end) {
        int i = firstEndingAtOrAfter(start);
        return i < count && Sequence.afterOrAt(end, starts[i]);
    }

    private int firstEndingAtOrAfter(int seq) {
        int low = 0;
        int high = count;
        // Segments nearly always extend or follow the last range.
        if (count > 0 && Sequence.afterOrAt(seq, starts[count - 1])) {
            low = count - 1;
        }
        while (low < high) {
            int middle = low + high >>> 1;
            if (Sequence.before(ends[middle], seq)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    private void insert(int i, int start, int end) {
        if (count == starts.length) {
            starts = Arrays.copyOf(starts, count * 2);
            ends = Arrays.copyOf(ends, count * 2);
        }
        System.arraycopy(starts, i, starts, i + 1, count - i);
        System.arraycopy(ends, i, ends, i + 1, count - i);
        starts[i] = start;
        ends[i] = end;
        count++;
    }

    private void remove(int from, int to) {
        System.arraycopy(starts, to, starts, from, count - to);
        System.arraycopy(ends, to, ends, from, count - to);
        count -= to - from;
    }

    private void addRecent(int seq) {
        int i = 0;
        while (i < recentCount && recent[i] != seq) {
            i++;
        }
        int shift = Math.min(i, recent.length - 1);
        System.arraycopy(recent, 0, recent, 1, shift);
        recent[0] = seq;
        recentCount = Math.min(Math.max(recentCount, shift + 1), recent.length);
    }

    /** Removes everything before {@code seq}, which has been delivered. */
    public void removeBefore(int seq) {
        int removed = 0;
        while (removed < count && Sequence.beforeOrAt(ends[removed], seq)) {
            removed++;
        }
        if (removed > 0) {
            remove(0, removed);
        }
        if (count > 0 && Sequence.before(starts[0], seq)) {
            starts[0] = seq;
        }
        if (count == 0) {
            recentCount = 0;
        }
    }

    /**
     * Adds the ranges to {@code out} as SACK blocks, up to {@code maxBlocks} in total. The ranges of the last segments
     * come first, then the others from the highest sequence number down.
     */
    public void writeBlocks(Segment out, int maxBlocks) {
        int firstRange = out.sackCount;
        for (int r = 0; r < recentCount && out.sackCount < maxBlocks; r++) {
            int i = indexOf(recent[r]);
            if (i >= 0) {
                addOnce(out, i, firstRange);
            }
        }
        for (int i = count - 1; i >= 0 && out.sackCount < maxBlocks; i--) {
            addOnce(out, i, firstRange);
        }
    }

    private void addOnce(Segment out, int i, int firstRange) {
        for (int b = firstRange; b < out.sackCount; b++) {
            if (out.sackStart(b) == starts[i]) {
                return;
            }
        }
        out.addSack(starts[i], ends[i]);
    }

    /** Returns the index of the range that contains {@code seq}, or -1. */
    int indexOf(int seq) {
        for (int i = count - 1; i >= 0; i--) {
            if (Sequence.afterOrAt(seq, starts[i])) {
                return Sequence.before(seq, ends[i]) ? i : -1;
            }
        }
        return -1;
    }

    /** Returns the end of the last range. There must be one. */
    public int lastEnd() {
        return ends[count - 1];
    }

    public int start(int i) {
        return starts[i];
    }

    public int end(int i) {
        return ends[i];
    }
}
