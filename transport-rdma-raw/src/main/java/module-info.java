/**
 * A Netty transport on RDMA verbs raw-packet queue pairs.
 *
 * <p>{@link io.rdmaraw.channel} is what a server uses: {@link io.rdmaraw.channel.RdmaRawEventLoopGroup} for its loops,
 * {@link io.rdmaraw.channel.RdmaRawIoHandlerConfig} for the device they are on, and a class of channels for frames,
 * datagrams or streams. {@link io.rdmaraw.verbs} has the rules that steer frames to a channel,
 * {@link io.rdmaraw.verbs.flow.FlowSpec}, and libibverbs itself for users who go below the channels. Whether the
 * transport
 * can be used here tells {@link io.rdmaraw.channel.RdmaRaw}.
 */
@SuppressWarnings("requires-automatic") // Micrometer has no module descriptor.
module io.rdmaraw {
    requires transitive io.netty.common;
    requires transitive io.netty.buffer;
    requires transitive io.netty.transport;
    requires static io.netty.transport.unix.common;
    requires static io.netty.transport.classes.epoll;
    requires jdk.net;
    requires static java.management;
    requires static jdk.jfr;
    requires static micrometer.core;

    uses io.rdmaraw.queue.DirectRings;
    provides io.rdmaraw.queue.DirectRings with io.rdmaraw.queue.mlx5.Mlx5DirectRings;
    uses io.rdmaraw.verbs.DriverLibrary;
    provides io.rdmaraw.verbs.DriverLibrary with io.rdmaraw.verbs.mlx5.Mlx5Library;

    exports io.rdmaraw.channel;
    exports io.rdmaraw.metrics;
    exports io.rdmaraw.verbs;
    exports io.rdmaraw.verbs.flow;
}
