package io.rdmaraw.tcp.send;

import io.rdmaraw.tcp.segment.Sequence;

/**
 * The segments between SND.UNA and SND.NXT in order of sequence number. Each entry has its last send time and
 * whether it is SACKed (RFC 2018) or marked as lost. Entries in flight are linked in order of their last
 * transmission, the order in which RACK (RFC 8985) examines them.
 *
 * <p>The entries form a ring in two arrays, without objects. They are identified by increasing positions, which
 * are masked to index the ring. The positions from {@link #head()} to {@link #tail()} (exclusive) are valid.
 */
public final class Scoreboard {
    public static final int NONE = -1;
    private static final int INITIAL_CAPACITY = 4;
    private static final int REBASE_AT = 1 << 30;

    private static final int SACKED = 1;
    private static final int LOST = 2;
    private static final int RETRANSMITTED = 4;

    /**
     * Fields of an entry are adjacent in memory. With many connections, each separate array would cost a cache
     * miss.
     */
    private static final int WORDS = 4;
    private static final int START = 0;
    /**
     * Next entry in the list of transmissions. A SACKed entry is not in this list; its link points to a later
     * entry with only SACKed entries in between.
     */
    private static final int LATER = 1;
    private static final int EARLIER = 2;
    private static final int FLAGS = 3;

    private int mask = INITIAL_CAPACITY - 1;
    private int[] words = new int[INITIAL_CAPACITY * WORDS];
    private long[] sentNanos = new long[INITIAL_CAPACITY];
    private int head;
    private int tail;
    private int endSeq;
    /** Ends of the list by time of transmission. */
    private int oldest = NONE;
    private int newest = NONE;
    /** Number of entries examined for ACKs. Tests use it to check that an ACK does not visit all entries. */
    public long visitedEntries;
    /** No entry before this position is lost. */
    private int lossHint;
    private int sackedBytes;
    private int lostBytes;
    private int sackedCount;
    /** Null until a rate-based congestion control first uses this scoreboard. */
    private SendRecords records;

    public void reset(int seq) {
        head = 0;
        tail = 0;
        endSeq = seq;
        oldest = NONE;
        newest = NONE;
        lossHint = 0;
        sackedBytes = 0;
        lostBytes = 0;
        sackedCount = 0;
    }

    int capacity() {
        return mask + 1;
    }

    /** Starts recording for rate samples. Entries already in flight have no record. */
    public void startRecording() {
        if (records == null) {
            records = new SendRecords(capacity());
        }
        for (int entry = head; entry != tail; entry++) {
            records.clear(entry);
        }
    }

    /** Returns the send records of the entries; null before {@link #startRecording()}. */
    public SendRecords records() {
        return records;
    }

    public int head() {
        return head;
    }

    public int tail() {
        return tail;
    }

    public boolean isEmpty() {
        return head == tail;
    }

    public int entryCount() {
        return tail - head;
    }

    public int startSeq() {
        return head == tail ? endSeq : words[base(head) + START];
    }

    public int endSeq() {
        return endSeq;
    }

    public int startSeq(int entry) {
        return words[base(entry) + START];
    }

    public int endSeq(int entry) {
        return entry + 1 == tail ? endSeq : words[base(entry + 1) + START];
    }

    public int lengthOf(int entry) {
        return endSeq(entry) - startSeq(entry);
    }

    public long sentNanos(int entry) {
        return sentNanos[entry & mask];
    }

    public boolean isSacked(int entry) {
        return (words[base(entry) + FLAGS] & SACKED) != 0;
    }

    public boolean isLost(int entry) {
        return (words[base(entry) + FLAGS] & LOST) != 0;
    }

    /** Returns whether the entry was sent more than once. */
    public boolean isRetransmitted(int entry) {
        return (words[base(entry) + FLAGS] & RETRANSMITTED) != 0;
    }

    public int sackedBytes() {
        return sackedBytes;
    }

    public int sackedCount() {
        return sackedCount;
    }

    /** Returns the bytes marked as lost and not retransmitted yet. */
    public int lostBytes() {
        return lostBytes;
    }

    /** Returns the bytes that are neither acknowledged, SACKed nor marked as lost ("pipe" of RFC 6675). */
    public int pipeBytes() {
        return endSeq - startSeq() - sackedBytes - lostBytes;
    }

    /** Returns the entry in flight with the earliest last transmission, or NONE. */
    public int oldestInFlight() {
        return oldest;
    }

    /** Returns the entry in flight that was sent next after {@code entry}, or NONE. */
    public int nextSent(int entry) {
        return words[base(entry) + LATER];
    }

    /** Appends a segment up to {@code end} that was sent for the first time. */
    public void append(int end, long nowNanos) {
        if (tail - head == mask + 1) {
            grow();
        }
        if (tail >= REBASE_AT) {
            rebase();
        }
        int base = base(tail);
        words[base + START] = endSeq;
        words[base + FLAGS] = 0;
        endSeq = end;
        link(tail++, nowNanos);
    }

    /** Records a retransmission of an entry. */
    public void markRetransmitted(int entry, long nowNanos) {
        int base = base(entry);
        if ((words[base + FLAGS] & LOST) != 0) {
            words[base + FLAGS] &= ~LOST;
            lostBytes -= lengthOf(entry);
        } else if ((words[base + FLAGS] & SACKED) == 0) {
            unlink(entry);
        }
        words[base + FLAGS] |= RETRANSMITTED;
        link(entry, nowNanos);
    }

    /** Marks an entry as lost and due for retransmission. Has no effect if it is lost or SACKed already. */
    public void markLost(int entry) {
        int base = base(entry);
        if ((words[base + FLAGS] & (LOST | SACKED)) != 0) {
            return;
        }
        unlink(entry);
        words[base + FLAGS] |= LOST;
        lostBytes += lengthOf(entry);
        if (entry < lossHint) {
            lossHint = entry;
        }
    }

    /** Marks an entry as SACKed. It must not be SACKed yet. */
    public void markSacked(int entry) {
        int base = base(entry);
        if ((words[base + FLAGS] & LOST) != 0) {
            words[base + FLAGS] &= ~LOST;
            lostBytes -= lengthOf(entry);
        } else {
            unlink(entry);
        }
        words[base + FLAGS] |= SACKED;
        words[base + LATER] = entry + 1;
        sackedBytes += lengthOf(entry);
        sackedCount++;
    }

    /**
     * Returns the first entry after {@code entry} that is not SACKed, or the tail. {@code entry} must be SACKed.
     * The links between SACKed entries are extended on the way (path compression), so that the average number of
     * steps is small.
     */
    public int firstUnsackedAfter(int entry) {
        int at = entry;
        while (at < tail && isSacked(at)) {
            visitedEntries++;
            int next = words[base(at) + LATER];
            if (next < tail && isSacked(next)) {
                next = words[base(next) + LATER];
                words[base(at) + LATER] = next;
            }
            at = next;
        }
        words[base(entry) + LATER] = at;
        return at;
    }

    /** Handles a peer that has dropped SACKed data (RFC 2018 section 8): all SACKed entries are marked as lost. */
    public void markSackedLost() {
        for (int entry = head; entry != tail; entry++) {
            int base = base(entry);
            if ((words[base + FLAGS] & SACKED) != 0) {
                words[base + FLAGS] = words[base + FLAGS] & ~SACKED | LOST;
                lostBytes += lengthOf(entry);
            }
        }
        lossHint = head;
        sackedBytes = 0;
        sackedCount = 0;
    }

    /** Undoes all loss marks. The entries are in flight again, as sent before all others in flight. */
    public void clearLosses() {
        for (int entry = tail - 1; lostBytes > 0 && entry >= head; entry--) {
            int base = base(entry);
            if ((words[base + FLAGS] & LOST) == 0) {
                continue;
            }
            words[base + FLAGS] &= ~LOST;
            lostBytes -= lengthOf(entry);
            words[base + EARLIER] = NONE;
            words[base + LATER] = oldest;
            if (oldest == NONE) {
                newest = entry;
            } else {
                words[base(oldest) + EARLIER] = entry;
            }
            oldest = entry;
        }
    }

    /** Returns the first entry due for retransmission, or NONE. */
    public int firstLost() {
        if (lostBytes == 0) {
            return NONE;
        }
        int entry = Math.max(lossHint, head);
        while (!isLost(entry)) {
            visitedEntries++;
            entry++;
        }
        lossHint = entry;
        return entry;
    }

    /**
     * Returns the last entry of the longest contiguous run of lost entries that starts with {@code first} and
     * fits into {@code maxBytes}; at least {@code first}.
     */
    public int lastLostWithin(int first, int maxBytes) {
        int last = first;
        while (last + 1 != tail && isLost(last + 1) && endSeq(last + 1) - startSeq(first) <= maxBytes) {
            last++;
        }
        return last;
    }

    /** Removes the first entry, which is acknowledged completely. */
    public void removeHead() {
        int base = base(head);
        int length = lengthOf(head);
        int f = words[base + FLAGS];
        if ((f & SACKED) != 0) {
            sackedBytes -= length;
            sackedCount--;
        } else if ((f & LOST) != 0) {
            lostBytes -= length;
        } else {
            unlink(head);
        }
        head++;
    }

    /** Removes the acknowledged bytes at the start of the first entry. */
    public void trimHead(int seq) {
        int base = base(head);
        int bytes = seq - words[base + START];
        if ((words[base + FLAGS] & SACKED) != 0) {
            sackedBytes -= bytes;
        } else if ((words[base + FLAGS] & LOST) != 0) {
            lostBytes -= bytes;
        }
        words[base + START] = seq;
    }

    /** Returns the entry that contains {@code seq}, which must lie in the scoreboard. */
    public int find(int seq) {
        int low = head;
        int high = tail - 1;
        while (low < high) {
            int middle = low + high + 1 >>> 1;
            if (Sequence.afterOrAt(seq, words[base(middle) + START])) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }

    /**
     * Splits an entry at {@code seq}, which lies inside it. Both parts have the state of the whole. The cost is
     * proportional to the number of entries; it is only needed if the MSS shrinks.
     */
    public void split(int entry, int seq) {
        if (tail - head == mask + 1) {
            grow();
        }
        for (int i = tail; i > entry + 1; i--) {
            copy(i - 1, i);
        }
        tail++;
        copy(entry, entry + 1);
        words[base(entry + 1) + START] = seq;
        for (int i = head; i != tail; i++) {
            words[base(i) + LATER] = shifted(words[base(i) + LATER], entry);
            words[base(i) + EARLIER] = shifted(words[base(i) + EARLIER], entry);
        }
        oldest = shifted(oldest, entry);
        newest = shifted(newest, entry);
        lossHint = Math.min(lossHint, entry);
        int f = words[base(entry) + FLAGS];
        if ((f & SACKED) != 0) {
            sackedCount++;
        }
        if ((f & (SACKED | LOST)) == 0) {
            insertAfter(entry, entry + 1);
        }
    }

    /**
     * Splits all lost entries that are longer than {@code maxBytes} in one pass. If the MSS shrinks, there may
     * be thousands.
     */
    public void splitLost(int maxBytes) {
        int added = 0;
        for (int entry = head; entry != tail; entry++) {
            added += isLost(entry) ? (lengthOf(entry) - 1) / maxBytes : 0;
        }
        if (added == 0) {
            return;
        }
        Scoreboard splitBoard = new Scoreboard();
        splitBoard.reset(startSeq());
        if (records != null) {
            splitBoard.startRecording();
        }
        while (splitBoard.capacity() < tail - head + added) {
            splitBoard.grow();
        }
        int[] newIndices = new int[tail - head];
        for (int entry = head; entry != tail; entry++) {
            newIndices[entry - head] = splitBoard.tail;
            int step = isLost(entry) ? maxBytes : lengthOf(entry);
            for (int at = 0; at < lengthOf(entry); at += step) {
                if (records != null) {
                    splitBoard.records.copyFrom(records, entry, splitBoard.tail);
                }
                int slot = splitBoard.tail++ & splitBoard.mask;
                splitBoard.words[slot * WORDS + START] = startSeq(entry) + at;
                splitBoard.sentNanos[slot] = sentNanos(entry);
                splitBoard.words[slot * WORDS + FLAGS] = words[base(entry) + FLAGS];
                // This links a SACKed entry to the next position. For entries in flight, the link is overwritten
                // below.
                splitBoard.words[slot * WORDS + LATER] = splitBoard.tail;
            }
        }
        // Entries in flight keep their order in time at their new positions.
        for (int entry = oldest; entry != NONE; entry = words[base(entry) + LATER]) {
            int slot = newIndices[entry - head] & splitBoard.mask;
            splitBoard.words[slot * WORDS + LATER] = newIndexOf(newIndices, words[base(entry) + LATER]);
            splitBoard.words[slot * WORDS + EARLIER] = newIndexOf(newIndices, words[base(entry) + EARLIER]);
        }
        oldest = newIndexOf(newIndices, oldest);
        newest = newIndexOf(newIndices, newest);
        mask = splitBoard.mask;
        words = splitBoard.words;
        sentNanos = splitBoard.sentNanos;
        records = splitBoard.records;
        head = 0;
        tail = splitBoard.tail;
        lossHint = 0;
    }

    private int newIndexOf(int[] newIndices, int entry) {
        return entry == NONE ? NONE : newIndices[entry - head];
    }

    private int base(int entry) {
        return (entry & mask) * WORDS;
    }

    private static int shifted(int link, int entry) {
        return link > entry ? link + 1 : link;
    }

    private void copy(int from, int to) {
        System.arraycopy(words, base(from), words, base(to), WORDS);
        sentNanos[to & mask] = sentNanos[from & mask];
        if (records != null) {
            records.copy(from, to);
        }
    }

    private void insertAfter(int entry, int added) {
        int next = words[base(entry) + LATER];
        words[base(added) + LATER] = next;
        words[base(added) + EARLIER] = entry;
        words[base(entry) + LATER] = added;
        if (next == NONE) {
            newest = added;
        } else {
            words[base(next) + EARLIER] = added;
        }
    }

    private void link(int entry, long nowNanos) {
        int slot = entry & mask;
        sentNanos[slot] = nowNanos;
        words[slot * WORDS + LATER] = NONE;
        words[slot * WORDS + EARLIER] = newest;
        if (newest == NONE) {
            oldest = entry;
        } else {
            words[base(newest) + LATER] = entry;
        }
        newest = entry;
    }

    private void unlink(int entry) {
        int base = base(entry);
        int before = words[base + EARLIER];
        int after = words[base + LATER];
        if (before == NONE) {
            oldest = after;
        } else {
            words[base(before) + LATER] = after;
        }
        if (after == NONE) {
            newest = before;
        } else {
            words[base(after) + EARLIER] = before;
        }
    }

    private void grow() {
        int oldMask = mask;
        int[] oldWords = words;
        long[] oldSent = sentNanos;
        mask = oldMask * 2 + 1;
        words = new int[oldWords.length * 2];
        sentNanos = new long[oldSent.length * 2];
        for (int i = head; i != tail; i++) {
            System.arraycopy(oldWords, (i & oldMask) * WORDS, words, base(i), WORDS);
            sentNanos[i & mask] = oldSent[i & oldMask];
        }
        if (records != null) {
            records.grow(head, tail);
        }
    }

    /** Reduces all positions by a multiple of the capacity, so that they never overflow. */
    private void rebase() {
        int by = head & ~mask;
        for (int i = head; i != tail; i++) {
            int base = base(i);
            words[base + LATER] = words[base + LATER] == NONE ? NONE : words[base + LATER] - by;
            words[base + EARLIER] = words[base + EARLIER] == NONE ? NONE : words[base + EARLIER] - by;
        }
        oldest = oldest == NONE ? NONE : oldest - by;
        newest = newest == NONE ? NONE : newest - by;
        lossHint = Math.max(0, lossHint - by);
        head -= by;
        tail -= by;
    }
}
