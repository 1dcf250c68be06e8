package io.rdmaraw.memory;

import java.util.Arrays;

/**
 * The memory that is registered in one protection domain: whether a device may read an address, and with which key.
 * Read without locks by every loop of the device; slabs come and go rarely.
 */
public final class RegisteredRanges {
    /** {@link #lkeyOf}: the memory is not registered. */
    public static final long UNREGISTERED = -1;
    private static final int FIELDS = 3;

    /** Start, end (exclusive) and key of each range. There are few, so a linear scan is fastest. */
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

    /** Takes out the range that starts at {@code address}; nothing happens if there is none. */
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
     * Returns the local key for the bytes from {@code address} on.
     *
     * @return the 32-bit key, or {@link #UNREGISTERED} unless one range holds all of them
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
