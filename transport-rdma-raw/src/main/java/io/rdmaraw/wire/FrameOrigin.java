package io.rdmaraw.wire;

/** Where the frames come from that a parser reads, and so which addresses and tags can be right in them. */
public enum FrameOrigin {
    /** Anywhere: for tools that look at what others send. No address is refused for what it means, and no VLAN. */
    ANYWHERE,
    /** A link: what says that it comes from within this host, from nowhere, or is of a VLAN, is refused. */
    LINK,
    /** Within a host, where loopback addresses are right. */
    HOST
}
