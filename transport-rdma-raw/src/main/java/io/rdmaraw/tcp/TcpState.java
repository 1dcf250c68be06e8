package io.rdmaraw.tcp;

/**
 * The states of a connection (RFC 9293 section 3.3.2). LISTEN is not among them: a {@link TcpListener} is another
 * object. A connection in TIME_WAIT has left its control block; the engine keeps a few words for it in a table.
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

    /** Both ends know the other's initial sequence number. */
    boolean synchronizedState() {
        return ordinal() >= ESTABLISHED.ordinal();
    }

    /** Our FIN has not been asked for: the user may still send. */
    boolean maySend() {
        return this == ESTABLISHED || this == CLOSE_WAIT || this == SYN_SENT || this == SYN_RECEIVED;
    }

    /** The peer's FIN has not arrived: it may still send; in SYN_RECEIVED with its SYN (RFC 7413). */
    boolean mayReceive() {
        return this == SYN_RECEIVED || this == ESTABLISHED || this == FIN_WAIT_1 || this == FIN_WAIT_2;
    }
}
