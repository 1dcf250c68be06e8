package io.rdmaraw.tcp.send;

import io.rdmaraw.tcp.segment.Sequence;

/**
 * The segments between SND.UNA and SND.NXT in order of sequence number, with what is known of each: when it was last
 * sent, whether the peer has it (SACK, RFC 2018), whether it is taken for lost. Those in flight are linked in order of
 * their last transmission, which is the order in which RACK (RFC 8985) looks at them.
 *
 * <p>A ring in two arrays, without objects. Entries are named by positions that grow for ever and are masked into
 * the ring; {@link #head()} to {@link #tail()} (exclusive) are valid.
 */
public final class Scoreboard {
    public static final int NONE = -1;
    private static final int INITIAL_CAPACITY = 4;
    private static final int REBASE_AT = 1 << 30;

    private static final int SACKED = 1;
    private static final int LOST = 2;
    private static final int RETRANSMITTED = 4;

    /** The numbers of an entry lie side by side: with many connections each array costs a miss of the cache. */
    private static final int WORDS = 4;
    private static final int START = 0;
    /** Of a sacked entry, which is in no list: one behind it, with only sacked ones between. */
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
    /** Entries looked at to find out what an acknowledgement says: so tests see that this is no walk over them all. */
    public long visited;
    /** No entry before this one is lost. */
    private int lossHint;
    private int sackedBytes;
    private int lostBytes;
    private int sackedCount;
    /** Null while no connection that measured rates has had this scoreboard. */
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

    /** From now on what is sent is recorded; of what is in flight nothing is known. */
    public void keepRecords() {
        if (records == null) {
            records = new SendRecords(capacity());
        }
        for (int entry = head; entry != tail; entry++) {
            records.clear(entry);
        }
    }

    /** How things stood when each segment was sent; only after {@link #keepRecords()}. */
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

    /** Sent more than once. */
    public boolean isRetransmitted(int entry) {
        return (words[base(entry) + FLAGS] & RETRANSMITTED) != 0;
    }

    public int sackedBytes() {
        return sackedBytes;
    }

    public int sackedCount() {
        return sackedCount;
    }

    /** Bytes taken for lost and not sent again yet. */
    public int lostBytes() {
        return lostBytes;
    }

    /** Sent, neither acknowledged nor sacked nor taken for lost: "pipe" of RFC 6675. */
    public int pipeBytes() {
        return endSeq - startSeq() - sackedBytes - lostBytes;
    }

    /** The entry in flight that was sent longest ago, or NONE. */
    public int oldestInFlight() {
        return oldest;
    }

    /** The entry in flight that was sent next after {@code entry}, or NONE. */
    public int sentAfter(int entry) {
        return words[base(entry) + LATER];
    }

    /** A segment up to {@code end} was sent for the first time. */
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

    /** An entry was sent again. */
    public void retransmitted(int entry, long nowNanos) {
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

    /** Takes an entry in flight for lost; it becomes due for retransmission. */
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

    /** The peer has this entry; it must not be sacked yet. */
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
     * The first entry behind {@code entry}, which is sacked, that is not sacked; the tail if there is none. Steps over
     * the entries between, and makes those steps longer, so that they are few on average.
     */
    public int behindSacked(int entry) {
        int at = entry;
        while (at < tail && isSacked(at)) {
            visited++;
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

    /** RFC 2018 section 8: the peer has dropped what it had reported; everything sacked is in flight again, as lost. */
    public void forgetSacks() {
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

    /** Nothing was lost after all: what was taken for lost is in flight, sent before everything else in flight. */
    public void forgetLosses() {
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

    /** The first entry due for retransmission, or NONE. */
    public int firstLost() {
        if (lostBytes == 0) {
            return NONE;
        }
        int entry = Math.max(lossHint, head);
        while (!isLost(entry)) {
            visited++;
            entry++;
        }
        lossHint = entry;
        return entry;
    }

    /**
     * The last of the entries from {@code first} on that are lost too and follow each other, as far as they lie within
     * {@code mostBytes}; {@code first} if that is all.
     */
    public int lastLostWithin(int first, int mostBytes) {
        int last = first;
        while (last + 1 != tail && isLost(last + 1) && endSeq(last + 1) - startSeq(first) <= mostBytes) {
            last++;
        }
        return last;
    }

    /** Drops the first entry, which is acknowledged as a whole. */
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

    /** The first bytes of the first entry are acknowledged; the rest is not. */
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

    /** The entry that holds {@code seq}, which must lie in the scoreboard. */
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
     * Cuts an entry in two at {@code seq}, which lies inside it. Both halves keep what is known of the whole. Takes
     * time in proportion to the entries: it happens when the MSS falls.
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
     * Cuts entries that are lost and longer than {@code mostBytes} into pieces of that length, all in one pass: when
     * the MSS falls there may be thousands of them.
     */
    public void cutLost(int mostBytes) {
        int added = 0;
        for (int entry = head; entry != tail; entry++) {
            added += isLost(entry) ? (lengthOf(entry) - 1) / mostBytes : 0;
        }
        if (added == 0) {
            return;
        }
        Scoreboard cut = new Scoreboard();
        cut.reset(startSeq());
        if (records != null) {
            cut.keepRecords();
        }
        while (cut.capacity() < tail - head + added) {
            cut.grow();
        }
        int[] placeOf = new int[tail - head];
        for (int entry = head; entry != tail; entry++) {
            placeOf[entry - head] = cut.tail;
            int step = isLost(entry) ? mostBytes : lengthOf(entry);
            for (int at = 0; at < lengthOf(entry); at += step) {
                if (records != null) {
                    cut.records.copyFrom(records, entry, cut.tail);
                }
                int slot = cut.tail++ & cut.mask;
                cut.words[slot * WORDS + START] = startSeq(entry) + at;
                cut.sentNanos[slot] = sentNanos(entry);
                cut.words[slot * WORDS + FLAGS] = words[base(entry) + FLAGS];
                // Of a sacked one this steps over it; of one in flight it is said below.
                cut.words[slot * WORDS + LATER] = cut.tail;
            }
        }
        // What is in flight keeps its order in time, at its new place.
        for (int entry = oldest; entry != NONE; entry = words[base(entry) + LATER]) {
            int slot = placeOf[entry - head] & cut.mask;
            cut.words[slot * WORDS + LATER] = placeOf(placeOf, words[base(entry) + LATER]);
            cut.words[slot * WORDS + EARLIER] = placeOf(placeOf, words[base(entry) + EARLIER]);
        }
        oldest = placeOf(placeOf, oldest);
        newest = placeOf(placeOf, newest);
        mask = cut.mask;
        words = cut.words;
        sentNanos = cut.sentNanos;
        records = cut.records;
        head = 0;
        tail = cut.tail;
        lossHint = 0;
    }

    private int placeOf(int[] placeOf, int entry) {
        return entry == NONE ? NONE : placeOf[entry - head];
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

    /** Moves all positions down by a multiple of the capacity, so that they never overflow. */
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
