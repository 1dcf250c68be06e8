package io.rdmaraw.microbench.profile;

/** A path through the transport. */
enum ProfiledPath {
    /** Frames received by a pipeline and released. */
    RX,
    /** Frames received and sent back. */
    ECHO,
    /** Datagrams received and sent back. */
    UDP,
    /** Requests and responses of 64 bytes on some connections. */
    TCP
}
