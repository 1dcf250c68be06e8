package io.rdmaraw.wire;

/**
 * How long a frame may be on a link with a given MTU, without the frame check sequence.
 *
 * <p>The rule is that of Linux's packet sockets: the MTU counts what follows the Ethernet header, and a frame with an
 * 802.1Q tag may be four bytes longer. No other tag, such as 802.1ad's, makes room for itself. A card may take more
 * (mlx5 takes four bytes more of every frame); the transport does not use that, so that a program works with each
 * provider. For C the same rule is in {@code softverbs/frame_limits.h}.
 */
public final class FrameLength {
    private FrameLength() {
    }

    /** Returns the length of the longest frame without an 802.1Q tag. */
    public static int untagged(int mtuBytes) {
        return mtuBytes + EthernetHeader.LENGTH_BYTES;
    }

    /** Returns the length of the longest frame of any kind. */
    public static int longest(int mtuBytes) {
        return untagged(mtuBytes) + VlanTag.LENGTH_BYTES;
    }

    /** Returns the length of the longest frame with {@code etherType} behind its addresses. */
    public static int longest(int mtuBytes, int etherType) {
        return etherType == EtherType.VLAN ? longest(mtuBytes) : untagged(mtuBytes);
    }
}
