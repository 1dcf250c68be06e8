/**
 * A Netty transport on RDMA verbs raw-packet queue pairs.
 */
@SuppressWarnings("requires-automatic") // Micrometer has no module descriptor.
module io.rdmaraw {
    requires transitive io.netty.common;
    requires transitive io.netty.buffer;
    requires transitive io.netty.transport;
    requires static io.netty.transport.unix.common;
    requires jdk.net;
    requires static java.management;
    requires static jdk.jfr;
    requires static micrometer.core;

    exports io.rdmaraw.channel;
    exports io.rdmaraw.verbs;
}
