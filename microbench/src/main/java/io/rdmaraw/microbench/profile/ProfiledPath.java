package io.rdmaraw.microbench.profile;

/** A path through the transport that can be profiled. */
enum ProfiledPath {
    /** A pipeline receives frames and releases them. */
    RX,
    /** A pipeline receives frames and sends them back. */
    ECHO,
    /** Two channels send the same datagrams back and forth. */
    UDP,
    /** Clients send requests of 64 bytes on several connections, and a server sends responses of the same size. */
    TCP
}
