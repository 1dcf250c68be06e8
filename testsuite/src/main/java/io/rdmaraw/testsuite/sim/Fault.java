package io.rdmaraw.testsuite.sim;

/**
 * The faults of a run. A scenario draws all of them from its seed. Each can be switched off by its bit without
 * changing the others, which is how a failure is shrunk. Faults of links have two bits, one per direction.
 */
enum Fault {
    JITTER, RATE, SMALL_QUEUE, ECN_MARKS, LOSS, BURST_LOSS, REORDER, DUPLICATE, CORRUPT, SMALL_MTU, MTU_SHRINK,
    MTU_BLACK_HOLE, ACK_THINNING, OPTION_STRIPPING, BLACKOUT, STALE_DUPLICATES, FORGERY,
    /** From here on, faults of the scenario and not of a link. */
    SEVERAL_CONNECTIONS, PEER_QUIRKS, SLOW_READERS, PAUSES, LONG_TRANSFERS, ABORTS, SIMULTANEOUS_OPEN, UNUSUAL_CONFIG;

    private static final int LINK_FAULTS = SEVERAL_CONNECTIONS.ordinal();

    /** Returns the bit of a fault in the mask of disabled faults. For a link's fault, direction is 0 or 1. */
    long bit(int direction) {
        return ordinal() < LINK_FAULTS ? 1L << 2 * ordinal() + direction : 1L << LINK_FAULTS + ordinal();
    }

    /**
     * Returns the mask of all faults that prevent a direction from delivering each packet once, unchanged, in
     * order and on time.
     */
    static long lossy(int direction) {
        long mask = 0;
        for (Fault fault : values()) {
            boolean harmless = fault == JITTER || fault == SMALL_QUEUE || fault == ECN_MARKS || fault == FORGERY;
            mask |= fault.ordinal() < LINK_FAULTS && !harmless ? fault.bit(direction) : 0;
        }
        return mask;
    }

    /** Returns the number of bits of a mask. */
    static int bits() {
        return LINK_FAULTS + values().length;
    }

    /** Returns the name of a bit of the mask. */
    static String nameOf(int bit) {
        return bit < 2 * LINK_FAULTS ? values()[bit / 2] + (bit % 2 == 0 ? ">" : "<")
                : values()[bit - LINK_FAULTS].name();
    }
}
