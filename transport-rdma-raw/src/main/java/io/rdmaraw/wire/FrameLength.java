package io.rdmaraw.wire;

/**
 * Maximum frame lengths on a link with a given MTU, without the frame check sequence.
 *
 * <p>The rule is that of Linux's packet sockets. The MTU covers everything after the Ethernet header, and a frame
 * with an 802.1Q tag may be four bytes longer. Other tags, such as 802.1ad, do not extend the limit. Some devices
 * accept more (mlx5 accepts four more bytes for every frame). The transport does not rely on that, so that a
 * program works with every provider. The same rule for C is in {@code softverbs/frame.h}.
 */
public final class FrameLength {
    private FrameLength() {
    }

    /** Returns the maximum length of a frame without an 802.1Q tag. */
    public static int untagged(int mtuBytes) {
        return mtuBytes + EthernetHeader.LENGTH_BYTES;
    }

    /** Returns the maximum length of a frame of any kind. */
    public static int longest(int mtuBytes) {
        return untagged(mtuBytes) + VlanTag.LENGTH_BYTES;
    }

    /** Returns the maximum length of a frame with the given EtherType after its addresses. */
    public static int longest(int mtuBytes, int etherType) {
        return etherType == EtherType.VLAN ? longest(mtuBytes) : untagged(mtuBytes);
    }
}
