package io.rdmaraw.host;

/** What a {@link PacketReassembly} has counted. Written by its thread; others read values that may be a little old. */
public final class ReassemblyCounters {
    long received;
    long reassembled;
    long dropped;

    /** Fragments received. */
    public long received() {
        return received;
    }

    /** Packets put together. */
    public long reassembled() {
        return reassembled;
    }

    /** Fragments dropped: overlapping, too many at a time, too late, or of a packet that is unsound as a whole. */
    public long dropped() {
        return dropped;
    }
}
