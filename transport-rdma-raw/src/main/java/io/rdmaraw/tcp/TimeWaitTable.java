package io.rdmaraw.tcp;

import io.rdmaraw.tcp.segment.Segment;
import java.util.Arrays;

/**
 * Connections in TIME-WAIT: 64-byte records in a slab, without objects. A hash table with linear probing, keyed
 * by the engine's connection hash, finds them. A queue in order of expiry removes them. All records have the same
 * duration, so a restarted one moves to the end of the queue.
 *
 * <p>Each entry of the hash table contains the hash and the record number. On a busy client, the table exceeds
 * all CPU caches, and every new connection performs a lookup. With the hash in the entry, a lookup costs one
 * cache miss instead of one per entry passed.
 */
final class TimeWaitTable {
    static final int NONE = -1;
    /** Marks a free entry. Record numbers are never negative. */
    private static final long FREE = -1;
    private static final int INITIAL_CAPACITY = 64;
    private static final int WORDS = 8;
    private static final int REMOTE_HIGH = 0;
    private static final int REMOTE_LOW = 1;
    private static final int LOCAL_HIGH = 2;
    private static final int LOCAL_LOW = 3;
    /** Local port, remote port, window field, and 1 if timestamps are in use; 16 bits each. */
    private static final int PORTS = 4;
    /** SND.NXT, RCV.NXT. */
    private static final int SEQUENCE = 5;
    /** TS.Recent and the offset of our timestamp clock. */
    private static final int TIMES = 6;
    private static final int EXPIRY = 7;
    private static final int MAX_REMOVED_AT_ONCE = 16;
    /** When the table is full, at most 1/64 of it is removed at once. */
    private static final int REMOVAL_DIVISOR = 64;
    /** Initial age of the last answer in ticks, longer than any interval between answers and far from overflow. */
    private static final int LONG_AGO = 1 << 20;

    private final int maxSize;
    private final long durationNanos;
    private final TcpCounters counters;
    private long[] slab = new long[INITIAL_CAPACITY * WORDS];
    private int[] hashes = new int[INITIAL_CAPACITY];
    /** Next record in the queue, or next free record. */
    private int[] next = new int[INITIAL_CAPACITY];
    private int[] previous = new int[INITIAL_CAPACITY];
    /** Time of the last answer to a segment without data, in units of 2^20 ns. */
    private int[] lastAnswerTicks = new int[INITIAL_CAPACITY];
    /** SO_MARK of each record; null until a record has one. */
    private int[] soMarks;
    /** Hash in the upper half, record number in the lower half; {@link #FREE} if the entry is free. */
    private long[] table = new long[2 * INITIAL_CAPACITY];
    /** Positions in the hash table of the records being removed. */
    private final int[] buckets = new int[MAX_REMOVED_AT_ONCE];
    private int allocatedCount;
    private int firstFree = NONE;
    private int size;
    private int first = NONE;
    private int last = NONE;

    TimeWaitTable(int maxSize, long durationNanos, TcpCounters counters) {
        this.maxSize = maxSize;
        this.durationNanos = durationNanos;
        this.counters = counters;
        Arrays.fill(table, FREE);
    }

    int size() {
        return size;
    }

    void add(TcpConnection c, long now) {
        if (durationNanos == 0) {
            return;
        }
        if (size >= maxSize) {
            int count = Math.clamp(maxSize / REMOVAL_DIVISOR, 1, buckets.length);
            counters.timeWaitOverflows += count;
            removeOldest(count);
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
        lastAnswerTicks[record] = ticks(now) - LONG_AGO;
        if (soMarks != null || c.soMark() != 0) {
            setSoMark(record, c.soMark());
        }
        size++;
        append(record);
        link(record);
    }

    /**
     * Removes the first records of the queue. Finding the hash table entry of each record is a cache miss. All
     * entries are looked up first, so that the CPU can overlap these misses.
     *
     * @param count at most the length of {@link #buckets}
     */
    private void removeOldest(int count) {
        int record = first;
        for (int i = 0; i < count; i++) {
            buckets[i] = bucketOf(record);
            record = next[record];
        }
        for (int i = 0; i < count; i++) {
            int bucket = buckets[i];
            // Closing the gaps of the previous records may have moved the entry.
            unlink((int) table[bucket] == first ? bucket : bucketOf(first));
            release(first);
        }
    }

    private int allocate() {
        if (firstFree != NONE) {
            int record = firstFree;
            firstFree = next[record];
            return record;
        }
        if (allocatedCount == next.length) {
            int capacity = allocatedCount * 2;
            slab = Arrays.copyOf(slab, capacity * WORDS);
            hashes = Arrays.copyOf(hashes, capacity);
            next = Arrays.copyOf(next, capacity);
            previous = Arrays.copyOf(previous, capacity);
            lastAnswerTicks = Arrays.copyOf(lastAnswerTicks, capacity);
            soMarks = soMarks == null ? null : Arrays.copyOf(soMarks, capacity);
            table = new long[2 * capacity];
            Arrays.fill(table, FREE);
            // No record is free here, so all are inserted again.
            for (int record = 0; record < allocatedCount; record++) {
                link(record);
            }
        }
        return allocatedCount++;
    }

    private void setSoMark(int record, int soMark) {
        if (soMarks == null) {
            soMarks = new int[next.length];
        }
        soMarks[record] = soMark;
    }

    private void append(int record) {
        next[record] = NONE;
        previous[record] = last;
        if (last == NONE) {
            first = record;
        } else {
            next[last] = record;
        }
        last = record;
    }

    private void link(int record) {
        int mask = table.length - 1;
        int i = hashes[record] & mask;
        while (table[i] != FREE) {
            i = i + 1 & mask;
        }
        table[i] = (long) hashes[record] << 32 | record;
    }

    private static int hashOf(long entry) {
        return (int) (entry >>> 32);
    }

    /** Returns the record of the connection that a received segment belongs to, or {@link #NONE}. */
    int find(int hash, Segment s) {
        return find(hash, s.destinationHigh, s.destinationLow, s.destinationPort, s.sourceHigh, s.sourceLow,
                s.sourcePort);
    }

    /** Returns the record of a 4-tuple, or {@link #NONE}. */
    int find(int hash, long localHigh, long localLow, int localPort, long remoteHigh, long remoteLow, int remotePort) {
        if (size == 0) {
            return NONE;
        }
        int mask = table.length - 1;
        for (int i = hash & mask; table[i] != FREE; i = i + 1 & mask) {
            if (hashOf(table[i]) != hash) {
                continue;
            }
            int record = (int) table[i];
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

    int soMark(int record) {
        return soMarks == null ? 0 : soMarks[record];
    }

    /** Returns the time at which TIME-WAIT began. */
    long startNanos(int record) {
        return slab[record * WORDS + EXPIRY] - durationNanos;
    }

    /** Returns whether a segment may be answered now, given the minimum interval. If so, records the answer. */
    boolean acquireAnswerPermit(int record, long now, long intervalNanos) {
        if (ticks(now) - lastAnswerTicks[record] < ticks(intervalNanos)) {
            return false;
        }
        lastAnswerTicks[record] = ticks(now);
        return true;
    }

    private static int ticks(long nanos) {
        return (int) (nanos >> TimerWheel.TICK_SHIFT);
    }

    /** Restarts the 2 MSL timer. */
    void restart(int record, long now) {
        slab[record * WORDS + EXPIRY] = now + durationNanos;
        dequeue(record);
        append(record);
    }

    void remove(int record) {
        unlink(bucketOf(record));
        release(record);
    }

    private void release(int record) {
        dequeue(record);
        next[record] = firstFree;
        firstFree = record;
        size--;
    }

    private void dequeue(int record) {
        int before = previous[record];
        int after = next[record];
        if (before == NONE) {
            first = after;
        } else {
            next[before] = after;
        }
        if (after == NONE) {
            last = before;
        } else {
            previous[after] = before;
        }
    }

    private int bucketOf(int record) {
        int mask = table.length - 1;
        int bucket = hashes[record] & mask;
        while ((int) table[bucket] != record) {
            bucket = bucket + 1 & mask;
        }
        return bucket;
    }

    private void unlink(int bucket) {
        int mask = table.length - 1;
        int gap = bucket;
        for (int j = gap + 1 & mask; table[j] != FREE; j = j + 1 & mask) {
            if ((j - (hashOf(table[j]) & mask) & mask) >= (j - gap & mask)) {
                table[gap] = table[j];
                gap = j;
            }
        }
        table[gap] = FREE;
    }

    /** Removes the records that have expired. */
    void expire(long now) {
        int due = expiredCount(now);
        while (due > 0) {
            removeOldest(due);
            due = expiredCount(now);
        }
    }

    /** Returns how many records at the head of the queue have expired, at most the number removed at once. */
    private int expiredCount(long now) {
        int count = 0;
        for (int record = first; count < buckets.length && record != NONE
                && slab[record * WORDS + EXPIRY] <= now; record = next[record]) {
            count++;
        }
        return count;
    }

    /** Returns the time of the next expiry; {@link Tcb#NEVER} if the table is empty. */
    long nextNanos() {
        return first == NONE ? Tcb.NEVER : slab[first * WORDS + EXPIRY];
    }
}
