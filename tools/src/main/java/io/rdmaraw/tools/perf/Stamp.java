package io.rdmaraw.tools.perf;

import io.rdmaraw.ffi.NativeMemory;

/**
 * The number that a frame carries in its payload: four bytes, followed by their complement. The two add up to zero in
 * the internet checksum, so a frame can be renumbered without updating its checksum. The complement also distinguishes
 * numbered frames from those of other programs. Frames without eight bytes of payload carry no number.
 *
 * <p>Bit 31 marks frames of the warm-up, which are excluded from the results.
 */
final class Stamp {
    static final int LENGTH_BYTES = 8;
    /** The offset reported for a frame without room for a number. */
    static final int NO_OFFSET = -1;
    /** The value returned by {@link #read} for a frame without a number. */
    static final long NONE = -1;
    static final int WARM_UP = 1 << 31;
    static final int NUMBER_MASK = ~WARM_UP;

    private Stamp() {
    }

    static void write(long address, int number) {
        NativeMemory.putLong(address, Integer.toUnsignedLong(number) | (long) ~number << Integer.SIZE);
    }

    /** Returns the 32 bits of the number, including {@link #WARM_UP}, or {@link #NONE}. */
    static long read(long address) {
        long both = NativeMemory.getLong(address);
        int number = (int) both;
        return (int) (both >>> Integer.SIZE) == ~number ? Integer.toUnsignedLong(number) : NONE;
    }

    static boolean isWarmUp(long stamp) {
        return stamp != NONE && ((int) stamp & WARM_UP) != 0;
    }
}
