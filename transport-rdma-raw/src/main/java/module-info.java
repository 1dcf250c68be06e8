/**
 * A Netty transport on RDMA verbs raw-packet queue pairs.
 */
module io.rdmaraw {
    requires transitive io.netty.common;
    requires transitive io.netty.buffer;
    requires transitive io.netty.transport;
    requires static io.netty.transport.unix.common;

    exports io.rdmaraw.channel;
    exports io.rdmaraw.verbs;
}
