package io.rdmaraw.wire;

/** The origin of the frames that a parser reads. It determines which addresses and VLAN tags are valid. */
public enum FrameOrigin {
    /** Unknown origin, for tools that show captured frames. No frame is rejected for its addresses or VLAN. */
    ANYWHERE,
    /** A link. Frames of a VLAN, and packets with a loopback or unspecified source, are rejected. */
    LINK,
    /** This host itself, where loopback addresses are valid. */
    HOST
}
