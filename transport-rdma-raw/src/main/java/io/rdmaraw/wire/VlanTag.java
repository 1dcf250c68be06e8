package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/** An 802.1Q or 802.1ad tag: the four bytes from the tag's EtherType on, which sits where the EtherType would. */
public final class VlanTag {
    /** Length that one tag adds to a frame. */
    public static final int LENGTH_BYTES = 4;

    private VlanTag() {
    }

    /** Returns the tag control information: priority, drop eligibility, identifier. */
    public static int tci(long address) {
        return NetworkOrder.getU16(address + 2);
    }

    /** Returns the EtherType of what follows the tag. */
    public static int innerEtherType(long address) {
        return NetworkOrder.getU16(address + 4);
    }

    /** Returns the VLAN identifier, 0..4095; 0 means priority only. */
    public static int identifier(int tci) {
        return tci & 0xfff;
    }
}
