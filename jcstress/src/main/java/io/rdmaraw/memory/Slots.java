package io.rdmaraw.memory;

/** Pools of slots whose memory nobody touches. */
final class Slots {
    private static final int SLOT_BYTES = 64;
    private static final long ADDRESS = 1L << 32;

    private Slots() {
    }

    /** Returns a pool without an owner, so that no thread gives back as the owner does. */
    static SlotPool pool(int slots) {
        return new SlotPool(ADDRESS, StrideLayout.NONE, slots, SLOT_BYTES, 0, SlotPoison.OFF);
    }
}
