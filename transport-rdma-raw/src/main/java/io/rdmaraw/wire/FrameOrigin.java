package io.rdmaraw.wire;

/** Where the frames come from that a parser reads, and so which addresses and tags can be right in them. */
public enum FrameOrigin {
    /** Anywhere: for tools that show captured frames. No address and no VLAN is refused for what it means. */
    ANYWHERE,
    /** A link: frames of a VLAN, and packets with a loopback or unspecified source, are refused. */
    LINK,
    /** Within a host, where loopback addresses are right. */
    HOST
}
