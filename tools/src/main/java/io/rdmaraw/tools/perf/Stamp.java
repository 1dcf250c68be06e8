package io.rdmaraw.tools.perf;

import io.rdmaraw.ffi.NativeMemory;

/**
 * The number that a frame carries in its payload: four bytes, and their complement. The two sum to nothing in the
 * internet checksum, so a frame can be numbered over and over without touching its checksum; and a payload of another
 * program is not taken for a number. Where the headers leave no eight bytes a frame has none.
 *
 * <p>Bit 31 marks frames of the warm-up, which no figure counts.
 */
final class Stamp {
    static final int LENGTH_BYTES = 8;
    /** Offset of a frame without room for a number. */
    static final int NO_OFFSET = -1;
    /** What {@link #read} returns for a frame without a number. */
    static final long NONE = -1;
    static final int WARM_UP = 1 << 31;
    static final int NUMBER_MASK = ~WARM_UP;

    private Stamp() {
    }

    static void write(long address, int number) {
        NativeMemory.putLong(address, Integer.toUnsignedLong(number) | (long) ~number << Integer.SIZE);
    }

    /** Returns the 32 bits of the number, {@link #WARM_UP} included, or {@link #NONE}. */
    static long read(long address) {
        long both = NativeMemory.getLong(address);
        int number = (int) both;
        return (int) (both >>> Integer.SIZE) == ~number ? Integer.toUnsignedLong(number) : NONE;
    }

    static boolean isWarmUp(long stamp) {
        return stamp != NONE && ((int) stamp & WARM_UP) != 0;
    }
}
