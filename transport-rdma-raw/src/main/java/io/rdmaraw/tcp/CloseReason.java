package io.rdmaraw.tcp;

/** Why a connection ended; the argument of {@link TcpEvents#closed}. */
public enum CloseReason {
    /** Both directions were closed in order and everything sent was acknowledged. */
    FINISHED,
    /** The user aborted, or closed with received data unread. */
    ABORTED,
    /** The peer sent RST. */
    RESET_BY_PEER,
    /** The peer answered our SYN with RST, or an ICMP port or protocol unreachable came for it. */
    REFUSED,
    /** Data, a FIN, a SYN or a probe stayed unanswered for longer than the configuration allows. */
    TIMED_OUT,
    /** The network said that the peer cannot be reached while the connection was being opened. */
    UNREACHABLE,
    /** The peer sent data after {@link TcpConnection#close()}; it was answered with RST, as Linux does. */
    DATA_AFTER_CLOSE,
    /** A handler had released a buffer that it had written: there is nothing to send any more. */
    DATA_RELEASED,
    /** The link is gone: nothing can be sent or received any more. */
    LINK_GONE
}
