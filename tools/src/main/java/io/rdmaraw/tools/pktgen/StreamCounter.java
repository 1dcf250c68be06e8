package io.rdmaraw.tools.pktgen;

/** Computes lost, late and duplicate frames from the numbers of one stream. Used by one thread. */
final class StreamCounter {
    /** Number of frames before the newest that are checked for duplicates. */
    private static final int MEMORY = 1024;

    private final long[] seen = new long[MEMORY / Long.SIZE];
    private boolean begun;
    private long first;
    private long highest;
    private long received;
    private long reordered;
    private long duplicates;

    void add(int number) {
        if (!begun) {
            begun = true;
            first = Integer.toUnsignedLong(number);
            highest = first;
            mark(first);
            received = 1;
            return;
        }
        // The number with these low bits that is nearest to the highest one.
        long extended = highest + (number - (int) highest);
        if (extended > highest) {
            forget(highest + 1, extended);
            highest = extended;
        } else if (highest - extended >= MEMORY || !isMarked(extended)) {
            reordered++;
            first = Math.min(first, extended);
        } else {
            duplicates++;
            return;
        }
        mark(extended);
        received++;
    }

    private void forget(long from, long to) {
        for (long n = Math.max(from, to - MEMORY + 1); n <= to; n++) {
            seen[place(n)] &= ~(1L << n);
        }
    }

    private void mark(long number) {
        if (highest - number < MEMORY) {
            seen[place(number)] |= 1L << number;
        }
    }

    private boolean isMarked(long number) {
        return (seen[place(number)] >>> number & 1) != 0;
    }

    private static int place(long number) {
        return (int) Math.floorMod(number, (long) MEMORY) / Long.SIZE;
    }

    long received() {
        return received;
    }

    /** Returns the count of missing numbers between the lowest and the highest. */
    long lost() {
        return begun ? highest - first + 1 - received : 0;
    }

    long reordered() {
        return reordered;
    }

    long duplicates() {
        return duplicates;
    }
}
