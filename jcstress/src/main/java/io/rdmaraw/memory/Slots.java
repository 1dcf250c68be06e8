package io.rdmaraw.memory;

/** Creates pools of slots without accessible memory. */
final class Slots {
    private static final int SLOT_BYTES = 64;
    private static final long ADDRESS = 1L << 32;

    private Slots() {
    }

    /** Returns a pool without an owner, so that no thread uses the owner's release path. */
    static SlotPool pool(int slots) {
        return new SlotPool(ADDRESS, StrideLayout.NONE, slots, SLOT_BYTES, 0, SlotPoison.OFF);
    }
}
