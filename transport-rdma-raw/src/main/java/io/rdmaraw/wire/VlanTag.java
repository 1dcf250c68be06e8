package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/**
 * An 802.1Q or 802.1ad tag: four bytes starting with the tag's EtherType, in the place of the frame's EtherType.
 */
public final class VlanTag {
    /** Length that a tag adds to a frame. */
    public static final int LENGTH_BYTES = 4;

    private VlanTag() {
    }

    /** Returns the tag control information: priority, drop eligibility and identifier. */
    public static int tci(long address) {
        return NetworkOrder.getU16(address + 2);
    }

    /** Returns the EtherType after the tag. */
    public static int innerEtherType(long address) {
        return NetworkOrder.getU16(address + 4);
    }

    /** Returns the VLAN identifier, 0 to 4095; 0 means that the tag contains only a priority. */
    public static int identifier(int tci) {
        return tci & 0xfff;
    }
}
