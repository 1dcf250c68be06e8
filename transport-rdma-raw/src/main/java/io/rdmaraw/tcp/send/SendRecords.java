package io.rdmaraw.tcp.send;

/**
 * State of the connection at the last transmission of each segment in flight, for delivery rate samples. The
 * positions are those of the {@link Scoreboard}. Only connections with a rate-based congestion control have
 * records.
 */
public final class SendRecords {
    private static final int LONGS = 5;
    private static final int DELIVERED = 0;
    private static final int DELIVERED_NANOS = 1;
    private static final int FIRST_SENT_NANOS = 2;
    private static final int LOST = 3;
    /** Bytes in flight, shifted left by one, and the application-limited flag in bit 0. */
    private static final int FLIGHT = 4;
    /** Value of the delivered bytes if the entry was sent before recording started. */
    private static final long NOT_MEASURED = -1;

    private long[] records;
    private int mask;

    SendRecords(int capacity) {
        records = new long[capacity * LONGS];
        mask = capacity - 1;
    }

    private int base(int entry) {
        return (entry & mask) * LONGS;
    }

    /** Records a transmission or retransmission of an entry. */
    public void recordSent(int entry, long deliveredBytes, long deliveredNanos, long firstSentNanos, long lostBytes,
            long flightBytes, boolean appLimited) {
        int base = base(entry);
        records[base + DELIVERED] = deliveredBytes;
        records[base + DELIVERED_NANOS] = deliveredNanos;
        records[base + FIRST_SENT_NANOS] = firstSentNanos;
        records[base + LOST] = lostBytes;
        records[base + FLIGHT] = flightBytes << 1 | (appLimited ? 1 : 0);
    }

    /** Marks an entry as not measured. */
    void clear(int entry) {
        records[base(entry) + DELIVERED] = NOT_MEASURED;
    }

    public boolean isMeasured(int entry) {
        return records[base(entry) + DELIVERED] != NOT_MEASURED;
    }

    /** Returns the bytes delivered by the connection when the entry was sent. */
    public long deliveredBytes(int entry) {
        return records[base(entry) + DELIVERED];
    }

    /** Returns the time of the last delivery when the entry was sent. */
    public long deliveredNanos(int entry) {
        return records[base(entry) + DELIVERED_NANOS];
    }

    /** Returns the send time of the segment that was the last one delivered when the entry was sent. */
    public long firstSentNanos(int entry) {
        return records[base(entry) + FIRST_SENT_NANOS];
    }

    /** Returns the bytes lost by the connection when the entry was sent. */
    public long lostBytes(int entry) {
        return records[base(entry) + LOST];
    }

    /** Returns the bytes in flight when the entry was sent, including the entry itself. */
    public long flightBytes(int entry) {
        return records[base(entry) + FLIGHT] >> 1;
    }

    public boolean isAppLimited(int entry) {
        return (records[base(entry) + FLIGHT] & 1) != 0;
    }

    void copy(int from, int to) {
        System.arraycopy(records, base(from), records, base(to), LONGS);
    }

    /** Doubles the capacity and keeps the records from {@code head} to {@code tail}. */
    void grow(int head, int tail) {
        SendRecords grown = new SendRecords((mask + 1) * 2);
        for (int entry = head; entry != tail; entry++) {
            System.arraycopy(records, base(entry), grown.records, grown.base(entry), LONGS);
        }
        records = grown.records;
        mask = grown.mask;
    }

    /** Copies a record from another scoreboard after an entry of it was split. */
    void copyFrom(SendRecords other, int from, int to) {
        System.arraycopy(other.records, other.base(from), records, base(to), LONGS);
    }
}
