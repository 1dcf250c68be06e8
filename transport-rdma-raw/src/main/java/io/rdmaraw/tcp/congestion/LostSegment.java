package io.rdmaraw.tcp.congestion;

/** A segment marked as lost, for a {@link RateBasedControl}. The engine reuses a single instance. */
public final class LostSegment {
    /** Sequence number of its first byte. */
    public int startSeq;
    public int lengthBytes;
    /** Bytes in flight when it was last sent, including itself. */
    public long flightAtSendBytes;
    /** Bytes marked as lost since then, including itself. */
    public long lostSinceSentBytes;
    /** Whether the application limited the sender when the segment was last sent. */
    public boolean appLimited;
    /** Bytes delivered by the connection so far. */
    public long totalDeliveredBytes;
    /** Whether losses are detected by SACK. Without SACK, only one loss per round trip is detected. */
    public boolean selectiveAcks;
}
