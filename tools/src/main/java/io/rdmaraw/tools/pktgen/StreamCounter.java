package io.rdmaraw.tools.pktgen;

/** Computes lost, late and duplicate frames from the numbers of one stream. Used by one thread. */
final class StreamCounter {
    /** Number of frames before the newest that are checked for duplicates. */
    private static final int WINDOW = 1024;

    private final long[] seen = new long[WINDOW / Long.SIZE];
    private boolean hasStarted;
    private long first;
    private long highest;
    private long received;
    private long reordered;
    private long duplicates;

    void add(int number) {
        if (!hasStarted) {
            hasStarted = true;
            first = Integer.toUnsignedLong(number);
            highest = first;
            mark(first);
            received = 1;
            return;
        }
        // The number with these low bits that is nearest to the highest one.
        long extended = highest + (number - (int) highest);
        if (extended > highest) {
            clear(highest + 1, extended);
            highest = extended;
        } else if (highest - extended >= WINDOW || !isMarked(extended)) {
            reordered++;
            first = Math.min(first, extended);
        } else {
            duplicates++;
            return;
        }
        mark(extended);
        received++;
    }

    private void clear(long from, long to) {
        for (long n = Math.max(from, to - WINDOW + 1); n <= to; n++) {
            seen[wordOf(n)] &= ~(1L << n);
        }
    }

    private void mark(long number) {
        if (highest - number < WINDOW) {
            seen[wordOf(number)] |= 1L << number;
        }
    }

    private boolean isMarked(long number) {
        return (seen[wordOf(number)] >>> number & 1) != 0;
    }

    private static int wordOf(long number) {
        return (int) Math.floorMod(number, (long) WINDOW) / Long.SIZE;
    }

    long received() {
        return received;
    }

    /** Returns the count of missing numbers between the lowest and the highest. */
    long lost() {
        return hasStarted ? highest - first + 1 - received : 0;
    }

    long reordered() {
        return reordered;
    }

    long duplicates() {
        return duplicates;
    }
}
