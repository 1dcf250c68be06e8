package io.rdmaraw.tcp.send;

/** Variables of loss recovery: PRR (RFC 9937), F-RTO (RFC 5682) and undo (RFC 4015). */
public final class RecoveryState {
    public enum Phase {
        /** No loss is known. */
        OPEN,
        /** Fast recovery (RFC 6675, RFC 6582): a loss was detected from ACKs. */
        FAST,
        /** The retransmission timer has expired. */
        TIMEOUT
    }

    /** State of F-RTO (RFC 5682 section 3.1). */
    public enum Frto {
        OFF,
        /** The first segment was retransmitted; waiting for the next ACK. */
        FIRST_ACK,
        /** New data was sent; the next ACK decides. */
        SECOND_ACK
    }

    public Phase phase;
    /** RecoveryPoint: SND.NXT at the start of the phase. */
    public int recoveryPoint;

    // NewReno without SACK (RFC 6582)
    public int duplicateAcks;
    public int duplicateAckBytes;

    // PRR
    public long prrDelivered;
    public long prrOut;
    public int recoverFlightBytes;

    // undo
    /**
     * The reduction may be undone. Remains set after the end of a recovery, as a D-SACK may arrive later than the ACK
     * that ends it.
     */
    public boolean undoPossible;
    public int undoCwnd;
    public int undoSsthresh;
    /** SND.UNA at the start of the phase. */
    public int undoSeq;
    /** End of the last segment retransmitted since then. */
    public int undoEndSeq;
    /** Number of retransmissions that no D-SACK has shown to be unnecessary; -1 before the first retransmission. */
    public int undoRetransmissions;
    /** Timestamp of the first retransmission in this phase (RFC 3522), valid if {@link #retransmitStamped}. */
    public int retransmitTimestamp;
    public boolean retransmitStamped;

    public Frto frto;

    /** A probe was sent in recovery, and nothing was delivered since. */
    public boolean probeOutstanding;

    /** Small segments are retransmitted one by one, because a merged segment may be too large for the path. */
    public boolean oneByOne;

    public void reset(int seq) {
        phase = Phase.OPEN;
        recoveryPoint = seq;
        duplicateAcks = 0;
        duplicateAckBytes = 0;
        prrDelivered = 0;
        prrOut = 0;
        recoverFlightBytes = 0;
        clearUndo();
        frto = Frto.OFF;
        oneByOne = false;
        probeOutstanding = false;
    }

    /** Returns whether all fields except {@link #recoveryPoint} have the values set by {@link #reset}. */
    public boolean isUnused() {
        return phase == Phase.OPEN && frto == Frto.OFF && !undoPossible && !retransmitStamped && !probeOutstanding
                && !oneByOne && duplicateAcks == 0 && duplicateAckBytes == 0;
    }

    public void clearUndo() {
        undoPossible = false;
        undoRetransmissions = 0;
        retransmitStamped = false;
    }
}
