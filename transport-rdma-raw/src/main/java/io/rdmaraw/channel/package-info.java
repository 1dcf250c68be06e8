/**
 * The Netty transport: channels for frames, datagrams and streams, and the event loops that drive their queues.
 *
 * {@snippet :
 * var config = RdmaRawIoHandlerConfig.builder().device("soft:xdp:eth0").build();
 * new ServerBootstrap().group(new RdmaRawEventLoopGroup(2, config)).channel(RdmaRawServerSocketChannel.class)
 *         .childHandler(handler).bind(8080);
 * }
 *
 * <ul>
 * <li>{@link io.rdmaraw.channel.RdmaRaw} checks whether the transport or a device is available.
 * <li>{@link io.rdmaraw.channel.RdmaRawIoHandlerConfig} selects the device and configures the loops.
 * <li>{@link io.rdmaraw.channel.RdmaRawServerSocketChannel} accepts TCP connections.
 * <li>{@link io.rdmaraw.channel.RdmaRawSocketChannel} is a TCP connection.
 * <li>{@link io.rdmaraw.channel.RdmaRawDatagramChannel} sends and receives UDP datagrams.
 * <li>{@link io.rdmaraw.channel.RdmaRawChannel} sends and receives Ethernet frames.
 * </ul>
 *
 * <p>Terms used in this package:
 *
 * <ul>
 * <li>A <i>device</i> is a network interface ({@code soft:xdp:eth0}), an RDMA device ({@code mlx5_0}) or a device in
 *     memory ({@code soft:loop}); see {@link io.rdmaraw.channel.RdmaRawAddress}. Each event loop opens a <i>queue</i>
 *     on it, which it polls for received frames.
 * <li>A <i>flow rule</i> selects the frames that the device delivers to a queue; see
 *     {@link io.rdmaraw.verbs.flow.FlowSpec}. {@code bind} and {@code connect} create the rules of TCP and UDP
 *     channels. The kernel receives all other frames.
 * <li>A <i>slot</i> is a part of the registered memory of a loop that holds one frame. Received buffers refer to slots
 *     until they are released.
 * <li>The kernel <i>carries</i> a connection if its peer cannot be reached over the device's link, for example a peer
 *     on the same host. Such a connection uses a NIO channel on the same loop.
 * </ul>
 */
package io.rdmaraw.channel;
