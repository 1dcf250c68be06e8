package io.rdmaraw.tcp;

/** Reason for the end of a connection; passed to {@link TcpEvents#closed}. */
public enum CloseReason {
    /** Both directions were closed and all sent data was acknowledged. */
    FINISHED,
    /** The user aborted the connection, or closed it with received data unread. */
    ABORTED,
    /** The peer sent RST. */
    RESET_BY_PEER,
    /** The peer answered our SYN with RST, or an ICMP port or protocol unreachable was received for it. */
    REFUSED,
    /** Data, a FIN, a SYN or a probe was not acknowledged within the configured time. */
    TIMED_OUT,
    /** The network reported the peer as unreachable during the handshake. */
    UNREACHABLE,
    /** The peer sent data after {@link TcpConnection#close()}; it was answered with RST, as on Linux. */
    DATA_AFTER_CLOSE,
    /** A handler released a buffer after writing it, so its bytes cannot be sent. */
    WRITTEN_BUFFER_RELEASED,
    /** The device was removed, so nothing can be sent or received. */
    DEVICE_REMOVED
}
