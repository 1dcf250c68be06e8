package io.rdmaraw.tcp;

/**
 * States of a connection (RFC 9293 section 3.3.2). LISTEN is not included, as a {@link TcpListener} is a separate
 * object. A connection in TIME_WAIT has no control block any more; the engine keeps a short record in
 * {@link TimeWaitTable}.
 */
public enum TcpState {
    CLOSED,
    SYN_SENT,
    SYN_RECEIVED,
    ESTABLISHED,
    FIN_WAIT_1,
    FIN_WAIT_2,
    CLOSE_WAIT,
    CLOSING,
    LAST_ACK,
    TIME_WAIT;

    /** Returns whether both ends know the other's initial sequence number. */
    boolean isSynchronized() {
        return ordinal() >= ESTABLISHED.ordinal();
    }

    /**
     * Returns whether this state permits the user to send. During the handshake a requested FIN does not change the
     * state, so callers also check {@link Tcb#FIN_QUEUED}.
     */
    boolean maySend() {
        return this == ESTABLISHED || this == CLOSE_WAIT || this == SYN_SENT || this == SYN_RECEIVED;
    }

    /**
     * Returns whether data of the peer is accepted: the connection has the peer's SYN and not its FIN. In
     * SYN_RECEIVED, data may arrive with the SYN (RFC 7413). Data of a SYN-ACK is processed after the change from
     * SYN_SENT to ESTABLISHED.
     */
    boolean mayReceive() {
        return this == SYN_RECEIVED || this == ESTABLISHED || this == FIN_WAIT_1 || this == FIN_WAIT_2;
    }
}
