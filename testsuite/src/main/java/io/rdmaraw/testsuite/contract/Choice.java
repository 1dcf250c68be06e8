package io.rdmaraw.testsuite.contract;

/** A setting of a whole program. 0 is the default value, to which the shrinker resets a choice. */
enum Choice {
    /** The loops: separate for servers and clients, or a single loop for all channels. */
    TOGETHER(2),
    /** The number of connections minus one. */
    MORE_CONNECTIONS(3),
    /** Two datagram channels: u0 on the loop of the servers and u1 on the loop of the clients. */
    DATAGRAMS(2),
    /** The accepted channels: they only read, they echo, or they echo and flush in each read. */
    ECHO(3),
    /** ALLOW_HALF_CLOSURE: off, on the accepted channels, on the clients, on both. */
    HALF_CLOSURE(4),
    /** AUTO_READ of the accepted channels: on or off. */
    PAUSED(2),
    /** The receive allocator of the accepted channels, an index of {@link ReceiveAllocators}. */
    RECEIVE(ReceiveAllocators.COUNT),
    /** The watermarks of the write buffer: the defaults, or one of several smaller settings. */
    WATERMARKS(4),
    /** The buffer allocator of the channels: Netty's default, pooled, unpooled, adaptive, pooled on the heap. */
    ALLOCATOR(5),
    /** AUTO_CLOSE: on or off. */
    NO_AUTO_CLOSE(2),
    /** SO_LINGER: unset or 0. */
    LINGER(2),
    /**
     * The sockets: the transport's own sockets; a kernel socket for the server, with NIO clients in all transports; or
     * kernel sockets for the clients, with an NIO server in all transports.
     */
    KERNEL(3),
    /** The main steps: each one waits until the data of the previous one has arrived, or all run without waiting. */
    CONCURRENT(2);

    final int values;

    Choice(int values) {
        this.values = values;
    }
}
