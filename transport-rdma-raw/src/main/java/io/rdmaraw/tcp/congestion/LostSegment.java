package io.rdmaraw.tcp.congestion;

/** A segment that was taken for lost, for a {@link RateBasedControl}; an engine has one and fills it again for each. */
public final class LostSegment {
    /** Sequence number of its first byte. */
    public int startSeq;
    public int lengthBytes;
    /** What was in flight when it was last sent, itself included. */
    public long flightAtSendBytes;
    /** What was taken for lost since then, itself included. */
    public long lostSinceSentBytes;
    /** Whether the application was what limited the sender when it was last sent. */
    public boolean appLimited;
    /** Delivered since the connection began. */
    public long totalDeliveredBytes;
    /** Whether losses are found by SACK, several in a round trip. */
    public boolean selectiveAcks;
}
