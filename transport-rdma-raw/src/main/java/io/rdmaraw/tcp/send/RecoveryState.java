package io.rdmaraw.tcp.send;

/** The variables of loss recovery: PRR (RFC 9937), F-RTO (RFC 5682), undo (RFC 4015). */
public final class RecoveryState {
    /** Where the connection stands. */
    public enum Phase {
        /** Nothing is known to be lost. */
        OPEN,
        /** Fast recovery (RFC 6675, RFC 6582): loss was found by acknowledgements. */
        FAST,
        /** The retransmission timer ran out. */
        TIMEOUT
    }

    /** F-RTO, RFC 5682 section 3.1. */
    public enum Frto {
        OFF,
        /** The first segment was sent again; the next ACK is awaited. */
        FIRST_ACK,
        /** New data was sent; the ACK that decides is awaited. */
        SECOND_ACK
    }

    public Phase phase;
    /** RecoveryPoint: SND.NXT when the phase began. */
    public int endSeq;

    // NewReno without SACK (RFC 6582)
    public int duplicateAcks;
    public int duplicateAckBytes;

    // PRR
    public long prrDelivered;
    public long prrOut;
    public int recoverFlightBytes;

    // undo
    public boolean undoPossible;
    public int undoCwnd;
    public int undoSsthresh;
    /** SND.UNA when the phase began. */
    public int undoSeq;
    /** Retransmissions not shown to be unneeded by D-SACK yet; -1 when the count is unknown. */
    public int undoRetransmissions;
    /** Our timestamp at the first retransmission of the phase (RFC 3522), if {@link #retransmitStamped}. */
    public int retransmitTimestamp;
    public boolean retransmitStamped;

    public Frto frto;

    /** A probe was sent in recovery; nothing has arrived since. */
    public boolean probed;

    /** Small segments are repeated as they were sent: together they may be too big for the path. */
    public boolean oneByOne;

    public void reset(int seq) {
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
        probed = false;
    }

    /** Whether all is as {@link #reset} leaves it, but for {@link #endSeq}. */
    public boolean isUnused() {
        return phase == Phase.OPEN && frto == Frto.OFF && !undoPossible && !retransmitStamped && !probed && !oneByOne
                && duplicateAcks == 0 && duplicateAckBytes == 0;
    }

    public void clearUndo() {
        undoPossible = false;
        undoRetransmissions = 0;
        retransmitStamped = false;
    }
}
