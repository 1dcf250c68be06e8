package io.rdmaraw.tcp.congestion;

/**
 * What one acknowledgement says of the rate of delivery (draft-ietf-ccwg-bbr section 4.1, before
 * draft-cheng-iccrg-delivery-rate-estimation); an engine has one and fills it again for each. Amounts are bytes.
 */
public final class RateSample {
    public static final long NO_RTT = -1;

    /** Bytes per second, 0 when the acknowledgement gives no sample. */
    public long deliveryRate;
    /** Delivered between the sending of the newest segment acknowledged and now. */
    public long deliveredBytes;
    /** What the connection had delivered when that segment was sent, or -1 when nothing was delivered. */
    public long priorDeliveredBytes;
    /** What was in flight when that segment was sent, itself included. */
    public long flightAtSendBytes;
    /** Lost between its sending and now. */
    public long lostBytes;
    /** Whether the application was what limited the sender then. */
    public boolean appLimited;
    /** RTT of the newest segment that was sent once, or {@link #NO_RTT}. */
    public long rttNanos;
    /** Newly delivered by this acknowledgement, in order or by SACK. */
    public long newlyDeliveredBytes;
    /** Delivered since the connection began. */
    public long totalDeliveredBytes;
    /** In flight after this acknowledgement, without what is taken for lost. */
    public long inFlightBytes;
    /** Whether the congestion window was what limited the sender since the last acknowledgement. */
    public boolean windowLimited;
    /** Whether losses are found by SACK, several in a round trip. */
    public boolean selectiveAcks;
    /** In fast recovery, or after a timeout. */
    public boolean recovering;
    /** Set by the control: samples of what is in flight now say nothing of the path's rate. */
    public boolean ignoreLowRates;

    /** Begins with the sample of another acknowledgement. */
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
