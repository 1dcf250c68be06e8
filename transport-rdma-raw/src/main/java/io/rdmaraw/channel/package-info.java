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
 */
package io.rdmaraw.channel;
