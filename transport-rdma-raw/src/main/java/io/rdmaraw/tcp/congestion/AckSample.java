package io.rdmaraw.tcp.congestion;

/** The result of processing one ACK. The engine reuses a single instance. */
public final class AckSample {
    public static final long NO_RTT = -1;

    /** Sequence space newly acknowledged in order. */
    public int ackedBytes;
    /** Bytes newly acknowledged or SACKed (DeliveredData of RFC 9937). */
    public int deliveredBytes;
    /** RTT of the first newly delivered segment that was sent only once, for the RTO. */
    public long rttNanos;
    /** RTT of the last of these segments; it does not include the delay of delayed ACKs. */
    public long latestRttNanos;
    /** Number of segments newly delivered. Segments merged in a retransmission count separately. */
    public int deliveredSegments;
    /** The ACK reports new ECN marks. With classic feedback: it has ECE set (RFC 3168). */
    public boolean marked;
    public boolean newlySacked;
    public boolean dsack;
    /** A duplicate ACK as defined in RFC 5681 section 2. */
    public boolean duplicateAck;
    /** A segment sent only once, before the present recovery phase, was delivered. */
    public boolean originalDelivered;
    public boolean retransmissionDelivered;
    /** Last send time of the delivered retransmissions; the latest if there are several. */
    public long retransmissionSentNanos;
    /** Bytes in flight before this ACK. */
    public int priorPipeBytes;

    public void reset(int pipeBytes) {
        ackedBytes = 0;
        deliveredBytes = 0;
        rttNanos = NO_RTT;
        latestRttNanos = NO_RTT;
        deliveredSegments = 0;
        marked = false;
        newlySacked = false;
        dsack = false;
        duplicateAck = false;
        originalDelivered = false;
        retransmissionDelivered = false;
        retransmissionSentNanos = Long.MIN_VALUE;
        priorPipeBytes = pipeBytes;
    }
}
