package io.rdmaraw.tcp;

/** The variables of loss recovery: PRR (RFC 6937), F-RTO (RFC 5682), undo (RFC 4015). */
final class RecoveryState {
    /** Where the connection stands. */
    enum Phase {
        /** Nothing is known to be lost. */
        OPEN,
        /** Fast recovery (RFC 6675, RFC 6582): loss was found by acknowledgements. */
        FAST,
        /** The retransmission timer ran out. */
        TIMEOUT
    }

    /** F-RTO, RFC 5682 section 3.1. */
    enum Frto {
        OFF,
        /** The first segment was sent again; the next ACK is awaited. */
        FIRST_ACK,
        /** New data was sent; the ACK that decides is awaited. */
        SECOND_ACK
    }

    Phase phase;
    /** RecoveryPoint: SND.NXT when the phase began. */
    int endSeq;

    // NewReno without SACK (RFC 6582)
    int duplicateAcks;
    int duplicateAckBytes;

    // PRR
    long prrDelivered;
    long prrOut;
    int recoverFlightBytes;

    // undo
    boolean undoPossible;
    int undoCwnd;
    int undoSsthresh;
    /** SND.UNA when the phase began. */
    int undoSeq;
    /** Retransmissions not shown to be unneeded by D-SACK yet; -1 when the count is unknown. */
    int undoRetransmissions;
    /** Our timestamp at the first retransmission of the phase (RFC 3522), if {@link #retransmitStamped}. */
    int retransmitTimestamp;
    boolean retransmitStamped;

    Frto frto;

    /** Small segments are repeated as they were sent: together they may be too big for the path. */
    boolean oneByOne;

    void reset(int seq) {
        phase = Phase.OPEN;
        endSeq = seq;
        duplicateAcks = 0;
        duplicateAckBytes = 0;
        prrDelivered = 0;
        prrOut = 0;
        recoverFlightBytes = 0;
        clearUndo();
        frto = Frto.OFF;
        oneByOne = false;
    }

    void clearUndo() {
        undoPossible = false;
        undoRetransmissions = 0;
        retransmitStamped = false;
    }
}
