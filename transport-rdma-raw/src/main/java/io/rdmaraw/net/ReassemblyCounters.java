package io.rdmaraw.net;

/** What a {@link PacketReassembly} has counted. Written by its thread; others read values that may be a little old. */
public final class ReassemblyCounters {
    /** Fragments received. */
    public long received;
    /** Packets put together. */
    public long reassembled;
    /** Fragments dropped: overlapping, too many at a time, too late, or of a packet that is unsound as a whole. */
    public long dropped;
}
