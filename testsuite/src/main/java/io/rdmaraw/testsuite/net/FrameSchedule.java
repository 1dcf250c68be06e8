package io.rdmaraw.testsuite.net;

import java.util.Arrays;

/** A queue of frames ordered by due time, and by arrival for equal times. It is a binary heap without objects. */
final class FrameSchedule {
    private static final int SLOT_BITS = 24;
    private long[] dueNanos = new long[1024];
    /** The order of arrival, with the frame's slot in the low bits. */
    private long[] entries = new long[1024];
    private int size;
    private long order;

    boolean isEmpty() {
        return size == 0;
    }

    /**
     * Adds a frame.
     *
     * @param slot number of the frame's slot, 0 to 2^24 - 1
     * @param due  time at which the frame is due
     */
    void add(int slot, long due) {
        if (size == entries.length) {
            dueNanos = Arrays.copyOf(dueNanos, 2 * size);
            entries = Arrays.copyOf(entries, 2 * size);
        }
        long entry = order++ << SLOT_BITS | slot;
        int at = size++;
        while (at > 0 && isBefore(due, entry, at - 1 >> 1)) {
            move(at - 1 >> 1, at);
            at = at - 1 >> 1;
        }
        dueNanos[at] = due;
        entries[at] = entry;
    }

    /** Returns when the first frame is due; {@link Long#MAX_VALUE} if the queue is empty. */
    long firstNanos() {
        return size == 0 ? Long.MAX_VALUE : dueNanos[0];
    }

    /** Removes the first frame and returns its slot. */
    int removeFirst() {
        int slot = (int) (entries[0] & (1 << SLOT_BITS) - 1);
        size--;
        long due = dueNanos[size];
        long entry = entries[size];
        int at = 0;
        for (int child = 1; child < size; child = 2 * at + 1) {
            if (child + 1 < size && isBefore(dueNanos[child + 1], entries[child + 1], child)) {
                child++;
            }
            if (isBefore(due, entry, child)) {
                break;
            }
            move(child, at);
            at = child;
        }
        dueNanos[at] = due;
        entries[at] = entry;
        return slot;
    }

    private boolean isBefore(long due, long entry, int other) {
        return due < dueNanos[other] || due == dueNanos[other] && entry < entries[other];
    }

    private void move(int from, int to) {
        dueNanos[to] = dueNanos[from];
        entries[to] = entries[from];
    }
}
