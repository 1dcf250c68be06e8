package io.rdmaraw.tcp.congestion;

/** What one acknowledgement said; an engine has one and fills it again for each. */
public final class AckSample {
    public static final long NO_RTT = -1;

    /** Sequence space newly acknowledged in order. */
    public int ackedBytes;
    /** Bytes newly known to have arrived, in order or by SACK (DeliveredData of RFC 9937). */
    public int deliveredBytes;
    /** From the first newly acknowledged segment that was sent once; for the RTO. */
    public long rttNanos;
    /** From the last of them; the delay of the path without delayed acknowledgements. */
    public long shortRttNanos;
    /** In so many segments, about: several that were repeated together count as what they were. */
    public int deliveredSegments;
    /** It tells of marks that no acknowledgement before has told of, or of some since the last CWR (RFC 3168). */
    public boolean marked;
    public boolean newlySacked;
    public boolean dsack;
    /** A duplicate acknowledgement as RFC 5681 section 2 defines it. */
    public boolean duplicate;
    /** A segment that was sent once, before the current phase of recovery, has arrived. */
    public boolean originalDelivered;
    public boolean retransmissionDelivered;
    /** When the latest of them was last sent. */
    public long retransmittedNanos;
    /** Bytes in flight before. */
    public int priorPipeBytes;

    public void reset(int pipeBytes) {
        ackedBytes = 0;
        deliveredBytes = 0;
        rttNanos = NO_RTT;
        shortRttNanos = NO_RTT;
        deliveredSegments = 0;
        marked = false;
        newlySacked = false;
        dsack = false;
        duplicate = false;
        originalDelivered = false;
        retransmissionDelivered = false;
        retransmittedNanos = Long.MIN_VALUE;
        priorPipeBytes = pipeBytes;
    }
}
