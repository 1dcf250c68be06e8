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

    /** Returns whether the user may still send, that is, no FIN was requested. */
    boolean maySend() {
        return this == ESTABLISHED || this == CLOSE_WAIT || this == SYN_SENT || this == SYN_RECEIVED;
    }

    /**
     * Returns whether the peer may still send, that is, its FIN has not arrived. In SYN_RECEIVED, data may come
     * with the SYN (RFC 7413).
     */
    boolean mayReceive() {
        return this == SYN_RECEIVED || this == ESTABLISHED || this == FIN_WAIT_1 || this == FIN_WAIT_2;
    }
}
