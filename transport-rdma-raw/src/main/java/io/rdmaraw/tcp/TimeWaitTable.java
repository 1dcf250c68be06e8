package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import java.util.Arrays;

/**
 * Connections in TIME-WAIT, 64 bytes each and no object. Records lie in a slab; a hash table (linear probing, keyed by
 * the engine's connection hash) finds them, and a queue in order of expiry forgets them: all stay equally long, so a
 * record that starts anew goes to its end.
 *
 * <p>An entry of the hash table has the hash beside the record's number. A busy client's table is larger than any
 * cache, and each of its new connections asks whether there is a record: so that takes one miss, and none for each
 * entry that it passes.
 */
final class TimeWaitTable {
    static final int NONE = -1;
    /** No record has a negative number. */
    private static final long FREE = -1;
    private static final int INITIAL_CAPACITY = 64;
    private static final int WORDS = 8;
    private static final int REMOTE_HIGH = 0;
    private static final int REMOTE_LOW = 1;
    private static final int LOCAL_HIGH = 2;
    private static final int LOCAL_LOW = 3;
    /** Local port, remote port, window field, 1 if timestamps are in use: 16 bits each. */
    private static final int PORTS = 4;
    /** SND.NXT, RCV.NXT. */
    private static final int SEQUENCE = 5;
    /** TS.Recent, offset of our timestamp clock. */
    private static final int TIMES = 6;
    private static final int EXPIRY = 7;
    private static final int FORGOTTEN_AT_ONCE = 16;
    /** Of a full table, no larger part of it is forgotten at once. */
    private static final int FORGOTTEN_SHARE = 64;
    /** Ticks beyond any interval between answers, and far from overflow. */
    private static final int LONG_AGO = 1 << 20;

    private final int maxSize;
    private final long durationNanos;
    private final TcpCounters counters;
    private long[] slab = new long[INITIAL_CAPACITY * WORDS];
    private int[] hashes = new int[INITIAL_CAPACITY];
    /** Towards the end of the queue; for free records, the next free one. */
    private int[] following = new int[INITIAL_CAPACITY];
    private int[] preceding = new int[INITIAL_CAPACITY];
    /** When a segment without data was last answered, in units of 2^20 ns. */
    private int[] answered = new int[INITIAL_CAPACITY];
    /** SO_MARK; null until there is a connection with one. */
    private int[] marks;
    /** Hash in the upper half, record in the lower one; {@link #FREE} where there is none. */
    private long[] index = new long[2 * INITIAL_CAPACITY];
    /** Of those that are being forgotten, in the hash table. */
    private final int[] places = new int[FORGOTTEN_AT_ONCE];
    private int used;
    private int free = NONE;
    private int size;
    private int first = NONE;
    private int last = NONE;

    TimeWaitTable(int maxSize, long durationNanos, TcpCounters counters) {
        this.maxSize = maxSize;
        this.durationNanos = durationNanos;
        this.counters = counters;
        Arrays.fill(index, FREE);
    }

    int size() {
        return size;
    }

    void add(TcpConnection c, long now) {
        if (durationNanos == 0) {
            return;
        }
        if (size >= maxSize) {
            int count = Math.clamp(maxSize / FORGOTTEN_SHARE, 1, places.length);
            counters.timeWaitOverflows += count;
            forget(count);
        }
        int record = allocate();
        int at = record * WORDS;
        slab[at + REMOTE_HIGH] = c.remoteHigh;
        slab[at + REMOTE_LOW] = c.remoteLow;
        slab[at + LOCAL_HIGH] = c.localHigh;
        slab[at + LOCAL_LOW] = c.localLow;
        long window = Math.min(0xFFFF, c.rcvAdv - c.rcvNxt >>> c.rcvWndShift);
        slab[at + PORTS] = (long) c.localPort << 48 | (long) c.remotePort << 32 | window << 16
                | (c.is(Tcb.TIMESTAMPS) ? 1 : 0);
        slab[at + SEQUENCE] = (long) c.sndNxt << 32 | c.rcvNxt & 0xFFFF_FFFFL;
        slab[at + TIMES] = (long) c.tsRecent << 32 | c.timestampOffset & 0xFFFF_FFFFL;
        slab[at + EXPIRY] = now + durationNanos;
        hashes[record] = c.hash;
        answered[record] = ticks(now) - LONG_AGO;
        if (marks != null || c.mark() != 0) {
            mark(record, c.mark());
        }
        size++;
        append(record);
        link(record);
    }

    /**
     * Forgets the first of the queue. Each one's entry in the hash table is a cache miss; looked for one after the
     * other, with nothing in between that waits for them, they are on their way together.
     *
     * @param count as many as {@link #places} at most
     */
    private void forget(int count) {
        int record = first;
        for (int i = 0; i < count; i++) {
            places[i] = placeOf(record);
            record = following[record];
        }
        for (int i = 0; i < count; i++) {
            int place = places[i];
            // Closing the gaps of those before may have moved it.
            unlink((int) index[place] == first ? place : placeOf(first));
            release(first);
        }
    }

    private int allocate() {
        if (free != NONE) {
            int record = free;
            free = following[record];
            return record;
        }
        if (used == following.length) {
            int capacity = used * 2;
            slab = Arrays.copyOf(slab, capacity * WORDS);
            hashes = Arrays.copyOf(hashes, capacity);
            following = Arrays.copyOf(following, capacity);
            preceding = Arrays.copyOf(preceding, capacity);
            answered = Arrays.copyOf(answered, capacity);
            marks = marks == null ? null : Arrays.copyOf(marks, capacity);
            index = new long[2 * capacity];
            Arrays.fill(index, FREE);
            // No record is free here: each is linked again.
            for (int record = 0; record < used; record++) {
                link(record);
            }
        }
        return used++;
    }

    private void mark(int record, int mark) {
        if (marks == null) {
            marks = new int[following.length];
        }
        marks[record] = mark;
    }

    private void append(int record) {
        following[record] = NONE;
        preceding[record] = last;
        if (last == NONE) {
            first = record;
        } else {
            following[last] = record;
        }
        last = record;
    }

    private void link(int record) {
        int mask = index.length - 1;
        int i = hashes[record] & mask;
        while (index[i] != FREE) {
            i = i + 1 & mask;
        }
        index[i] = (long) hashes[record] << 32 | record;
    }

    private static int hashOf(long entry) {
        return (int) (entry >>> 32);
    }

    /** Returns the record of the connection that a received segment is of, or {@link #NONE}. */
    int find(int hash, Segment s) {
        return find(hash, s.destinationHigh, s.destinationLow, s.destinationPort, s.sourceHigh, s.sourceLow,
                s.sourcePort);
    }

    /** The record of a 4-tuple, or NONE. */
    int find(int hash, long localHigh, long localLow, int localPort, long remoteHigh, long remoteLow, int remotePort) {
        if (size == 0) {
            return NONE;
        }
        int mask = index.length - 1;
        for (int i = hash & mask; index[i] != FREE; i = i + 1 & mask) {
            if (hashOf(index[i]) != hash) {
                continue;
            }
            int record = (int) index[i];
            int at = record * WORDS;
            if (slab[at + REMOTE_LOW] == remoteLow && slab[at + LOCAL_LOW] == localLow
                    && slab[at + PORTS] >>> 32 == ((long) localPort << 16 | remotePort)
                    && slab[at + REMOTE_HIGH] == remoteHigh && slab[at + LOCAL_HIGH] == localHigh) {
                return record;
            }
        }
        return NONE;
    }

    int sndNxt(int record) {
        return (int) (slab[record * WORDS + SEQUENCE] >>> 32);
    }

    int rcvNxt(int record) {
        return (int) slab[record * WORDS + SEQUENCE];
    }

    int window(int record) {
        return (int) (slab[record * WORDS + PORTS] >>> 16) & 0xFFFF;
    }

    boolean hasTimestamps(int record) {
        return (slab[record * WORDS + PORTS] & 1) != 0;
    }

    int tsRecent(int record) {
        return (int) (slab[record * WORDS + TIMES] >>> 32);
    }

    int timestampOffset(int record) {
        return (int) slab[record * WORDS + TIMES];
    }

    int mark(int record) {
        return marks == null ? 0 : marks[record];
    }

    /** When TIME-WAIT began. */
    long sinceNanos(int record) {
        return slab[record * WORDS + EXPIRY] - durationNanos;
    }

    /** Whether the last answer is long enough ago for another; notes it if so. */
    boolean mayAnswer(int record, long now, long intervalNanos) {
        if (ticks(now) - answered[record] < ticks(intervalNanos)) {
            return false;
        }
        answered[record] = ticks(now);
        return true;
    }

    private static int ticks(long nanos) {
        return (int) (nanos >> TimerWheel.TICK_SHIFT);
    }

    /** Starts the 2 MSL anew. */
    void restart(int record, long now) {
        slab[record * WORDS + EXPIRY] = now + durationNanos;
        dequeue(record);
        append(record);
    }

    void remove(int record) {
        unlink(placeOf(record));
        release(record);
    }

    private void release(int record) {
        dequeue(record);
        following[record] = free;
        free = record;
        size--;
    }

    private void dequeue(int record) {
        int before = preceding[record];
        int after = following[record];
        if (before == NONE) {
            first = after;
        } else {
            following[before] = after;
        }
        if (after == NONE) {
            last = before;
        } else {
            preceding[after] = before;
        }
    }

    private int placeOf(int record) {
        int mask = index.length - 1;
        int place = hashes[record] & mask;
        while ((int) index[place] != record) {
            place = place + 1 & mask;
        }
        return place;
    }

    private void unlink(int place) {
        int mask = index.length - 1;
        int gap = place;
        for (int j = gap + 1 & mask; index[j] != FREE; j = j + 1 & mask) {
            if ((j - (hashOf(index[j]) & mask) & mask) >= (j - gap & mask)) {
                index[gap] = index[j];
                gap = j;
            }
        }
        index[gap] = FREE;
    }

    /** Forgets those whose time has come. */
    void expire(long now) {
        int due = due(now);
        while (due > 0) {
            forget(due);
            due = due(now);
        }
    }

    /** Returns how many of the first of the queue are to go, as far as they are forgotten together. */
    private int due(long now) {
        int count = 0;
        for (int record = first; count < places.length && record != NONE
                && slab[record * WORDS + EXPIRY] <= now; record = following[record]) {
            count++;
        }
        return count;
    }

    /** When {@link #expire} has work next; NEVER if the table is empty. */
    long nextNanos() {
        return first == NONE ? Tcb.NEVER : slab[first * WORDS + EXPIRY];
    }
}
