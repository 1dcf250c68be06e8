package io.rdmaraw.memory;

import java.util.Arrays;

/**
 * The registered memory ranges of one protection domain, with their lkeys. Lookups take no lock; ranges change
 * rarely.
 */
public final class RegisteredRanges {
    /** Returned by {@link #lkeyOf} if the memory is not registered. */
    public static final long UNREGISTERED = -1;
    private static final int FIELDS = 3;

    /**
     * Start, end (exclusive) and lkey of each range. There are few, so a linear search is fastest. Copied on
     * write.
     */
    private volatile long[] ranges = {};

    /** Adds a range. */
    public synchronized void add(long address, long lengthBytes, int lkey) {
        long[] old = ranges;
        long[] grown = Arrays.copyOf(old, old.length + FIELDS);
        grown[old.length] = address;
        grown[old.length + 1] = address + lengthBytes;
        grown[old.length + 2] = lkey & 0xffffffffL;
        ranges = grown;
    }

    /** Removes the range that starts at an address, if there is one. */
    public synchronized void remove(long address) {
        long[] old = ranges;
        for (int i = 0; i < old.length; i += FIELDS) {
            if (old[i] == address) {
                long[] shrunk = Arrays.copyOf(old, old.length - FIELDS);
                System.arraycopy(old, i + FIELDS, shrunk, i, old.length - i - FIELDS);
                ranges = shrunk;
                return;
            }
        }
    }

    /**
     * Returns the lkey of a range of bytes.
     *
     * @return the lkey as an unsigned 32-bit number, or {@link #UNREGISTERED} if no single range contains all
     *         the bytes
     */
    public long lkeyOf(long address, int lengthBytes) {
        long[] current = ranges;
        for (int i = 0; i < current.length; i += FIELDS) {
            if (address >= current[i] && address + lengthBytes <= current[i + 1]) {
                return current[i + 2];
            }
        }
        return UNREGISTERED;
    }
}
