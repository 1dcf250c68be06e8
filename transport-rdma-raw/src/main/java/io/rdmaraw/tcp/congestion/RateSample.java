package io.rdmaraw.tcp.congestion;

/**
 * The delivery rate sample of one ACK (draft-ietf-ccwg-bbr section 4.1, formerly
 * draft-cheng-iccrg-delivery-rate-estimation). The engine reuses a single instance. Amounts are in bytes. "That
 * segment" is the most recently sent of the segments newly delivered.
 */
public final class RateSample {
    public static final long NO_RTT = -1;

    /** Delivery rate in bytes per second; 0 if the ACK provides no sample. */
    public long deliveryRate;
    /** Bytes delivered since that segment was sent. */
    public long deliveredBytes;
    /** Bytes delivered by the connection when that segment was sent; -1 if nothing was newly delivered. */
    public long priorDeliveredBytes;
    /** Bytes in flight when that segment was sent, including itself. */
    public long flightAtSendBytes;
    /** Bytes lost since that segment was sent. */
    public long lostBytes;
    /** Whether the application limited the sender when that segment was sent. */
    public boolean appLimited;
    /** RTT of the last newly delivered segment that was sent only once, or {@link #NO_RTT}. */
    public long rttNanos;
    /** Bytes newly delivered by this ACK, in order or by SACK. */
    public long newlyDeliveredBytes;
    /** Bytes delivered by the connection so far. */
    public long totalDeliveredBytes;
    /** Bytes in flight after this ACK, without data marked as lost. */
    public long inFlightBytes;
    /** Whether the congestion window limited the sender since the last ACK. */
    public boolean windowLimited;
    /** Whether losses are detected by SACK. Without SACK, only one loss per round trip is detected. */
    public boolean selectiveAcks;
    /** The connection is in fast recovery, or recovers from a timeout. */
    public boolean recovering;
    /**
     * Set by the control: data in flight now is sent at a reduced rate, so its samples do not describe the path.
     */
    public boolean ignoreLowRates;

    /** Resets the sample for the next ACK. */
    public void reset() {
        deliveryRate = 0;
        deliveredBytes = 0;
        priorDeliveredBytes = -1;
        flightAtSendBytes = 0;
        lostBytes = 0;
        appLimited = false;
        rttNanos = NO_RTT;
        newlyDeliveredBytes = 0;
        inFlightBytes = 0;
        windowLimited = false;
        recovering = false;
        ignoreLowRates = false;
    }
}
