/**
 * The Netty transport: channels of frames, datagrams and streams, and the event loops that drive their queues.
 *
 * {@snippet :
 * var config = RdmaRawIoHandlerConfig.builder().device("soft:xdp:eth0").build();
 * new ServerBootstrap().group(new RdmaRawEventLoopGroup(2, config)).channel(RdmaRawServerSocketChannel.class)
 *         .childHandler(handler).bind(8080);
 * }
 *
 * <p>{@link io.rdmaraw.channel.RdmaRaw} tells what a device lacks here; of datagrams see
 * {@link io.rdmaraw.channel.RdmaRawDatagramChannel}, of frames {@link io.rdmaraw.channel.RdmaRawChannel}.
 */
package io.rdmaraw.channel;
