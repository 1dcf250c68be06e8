package io.rdmaraw.testsuite.sim;

/**
 * What can make a run hard. A scenario draws all of them from its seed; each can be switched off by its bit without
 * changing what the others do, which is how a failure is shrunk. Links have two bits, one for each direction.
 */
enum Fault {
    JITTER, RATE, SMALL_QUEUE, ECN_MARKS, LOSS, BURST_LOSS, REORDER, DUPLICATE, CORRUPT, SMALL_MTU, MTU_SHRINK,
    MTU_BLACK_HOLE, ACK_THINNING, OPTION_STRIPPING, BLACKOUT, STALE_DUPLICATES, FORGERY,
    /** Of the scenario, not of a link. */
    SEVERAL_CONNECTIONS, PEER_QUIRKS, SLOW_READERS, PAUSES, LONG_TRANSFERS, ABORTS, SIMULTANEOUS_OPEN, UNUSUAL_CONFIG;

    private static final int LINK_FAULTS = SEVERAL_CONNECTIONS.ordinal();

    /** Returns the bit of a link's fault in a mask of faults that are off; direction is 0 or 1. */
    long bit(int direction) {
        return ordinal() < LINK_FAULTS ? 1L << 2 * ordinal() + direction : 1L << LINK_FAULTS + ordinal();
    }

    /** Returns a mask of what keeps a direction from delivering every packet once, whole, in order and in time. */
    static long lossy(int direction) {
        long mask = 0;
        for (Fault fault : values()) {
            boolean harmless = fault == JITTER || fault == SMALL_QUEUE || fault == ECN_MARKS || fault == FORGERY;
            mask |= fault.ordinal() < LINK_FAULTS && !harmless ? fault.bit(direction) : 0;
        }
        return mask;
    }

    /** Returns how many bits a mask has. */
    static int bits() {
        return LINK_FAULTS + values().length;
    }

    /** Returns the name of a mask's bit. */
    static String nameOf(int bit) {
        return bit < 2 * LINK_FAULTS ? values()[bit / 2] + (bit % 2 == 0 ? ">" : "<")
                : values()[bit - LINK_FAULTS].name();
    }
}
