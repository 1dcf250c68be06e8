/**
 * A Netty transport that implements TCP and UDP in user space. It exchanges frames with a network interface of Linux
 * (AF_XDP or AF_PACKET) or with a ConnectX card (raw-packet queue pairs of RDMA verbs).
 *
 * <ul>
 * <li>{@link io.rdmaraw.channel} has the event loops and channels. Applications create an
 *     {@link io.rdmaraw.channel.RdmaRawEventLoopGroup}, select the device with
 *     {@link io.rdmaraw.channel.RdmaRawIoHandlerConfig}, and use a channel class for frames, datagrams or streams.
 *     Use {@link io.rdmaraw.channel.RdmaRaw} to check whether the transport is available on this host.
 * <li>{@link io.rdmaraw.verbs.flow} has the rules that steer frames to a channel; see
 *     {@link io.rdmaraw.verbs.flow.FlowSpec}.
 * <li>{@link io.rdmaraw.metrics} has the counters.
 * <li>{@link io.rdmaraw.verbs} has names and errors of devices. The binding of libibverbs is not exported.
 * </ul>
 */
@SuppressWarnings("requires-automatic") // Micrometer has no module descriptor.
module io.rdmaraw {
    requires transitive io.netty.common;
    requires transitive io.netty.buffer;
    requires transitive io.netty.transport;
    requires static io.netty.transport.unix.common;
    requires static io.netty.transport.classes.epoll;
    requires static java.management;
    requires static jdk.net;
    requires static jdk.jfr;
    requires static micrometer.core;

    uses io.rdmaraw.queue.DirectRingDriver;
    provides io.rdmaraw.queue.DirectRingDriver with io.rdmaraw.queue.mlx5.Mlx5DirectRingDriver;
    uses io.rdmaraw.verbs.objects.DriverLibrary;
    provides io.rdmaraw.verbs.objects.DriverLibrary with io.rdmaraw.verbs.mlx5.Mlx5Library;

    exports io.rdmaraw.channel;
    exports io.rdmaraw.metrics;
    exports io.rdmaraw.verbs;
    exports io.rdmaraw.verbs.flow;
}
