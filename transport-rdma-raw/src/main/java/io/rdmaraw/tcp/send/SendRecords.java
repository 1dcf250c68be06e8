package io.rdmaraw.tcp.send;

/**
 * What the delivery rate wants to know of each segment in flight, beside the {@link Scoreboard} and with its positions:
 * how things stood when it was last sent. Only connections whose congestion control measures rates have it.
 */
public final class SendRecords {
    private static final int LONGS = 5;
    private static final int DELIVERED = 0;
    private static final int DELIVERED_NANOS = 1;
    private static final int FIRST_SENT_NANOS = 2;
    private static final int LOST = 3;
    /** Bytes in flight, shifted by one, and whether the application limited the sender. */
    private static final int FLIGHT = 4;
    /** Sent before rates were measured. */
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

    /** The entry was sent, for the first time or again. */
    public void sent(int entry, long deliveredBytes, long deliveredNanos, long firstSentNanos, long lostBytes,
            long flightBytes, boolean appLimited) {
        int base = base(entry);
        records[base + DELIVERED] = deliveredBytes;
        records[base + DELIVERED_NANOS] = deliveredNanos;
        records[base + FIRST_SENT_NANOS] = firstSentNanos;
        records[base + LOST] = lostBytes;
        records[base + FLIGHT] = flightBytes << 1 | (appLimited ? 1 : 0);
    }

    /** Nothing is known of an entry. */
    void clear(int entry) {
        records[base(entry) + DELIVERED] = NOT_MEASURED;
    }

    public boolean isMeasured(int entry) {
        return records[base(entry) + DELIVERED] != NOT_MEASURED;
    }

    /** What had been delivered when it was sent. */
    public long deliveredBytes(int entry) {
        return records[base(entry) + DELIVERED];
    }

    /** When the last of that had been. */
    public long deliveredNanos(int entry) {
        return records[base(entry) + DELIVERED_NANOS];
    }

    /** When the segment that was the newest delivered then had been sent. */
    public long firstSentNanos(int entry) {
        return records[base(entry) + FIRST_SENT_NANOS];
    }

    /** What had been lost when it was sent. */
    public long lostBytes(int entry) {
        return records[base(entry) + LOST];
    }

    /** What was in flight, itself included. */
    public long flightBytes(int entry) {
        return records[base(entry) + FLIGHT] >> 1;
    }

    public boolean isAppLimited(int entry) {
        return (records[base(entry) + FLIGHT] & 1) != 0;
    }

    void copy(int from, int to) {
        System.arraycopy(records, base(from), records, base(to), LONGS);
    }

    /** Twice the capacity; positions {@code head} to {@code tail} keep what they have. */
    void grow(int head, int tail) {
        SendRecords grown = new SendRecords((mask + 1) * 2);
        for (int entry = head; entry != tail; entry++) {
            System.arraycopy(records, base(entry), grown.records, grown.base(entry), LONGS);
        }
        records = grown.records;
        mask = grown.mask;
    }

    /** Copies of another scoreboard's entry: it was cut. */
    void copyFrom(SendRecords other, int from, int to) {
        System.arraycopy(other.records, other.base(from), records, base(to), LONGS);
    }
}
