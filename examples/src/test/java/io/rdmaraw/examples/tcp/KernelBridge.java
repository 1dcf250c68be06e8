package io.rdmaraw.examples.tcp;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawSocketChannel;

import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/**
 * Leads stock programs, which know only the kernel's sockets, to a TCP server on a loop device: NIO channels accept, on
 * the same loops as the connections that go on.
 */
public final class KernelBridge implements AutoCloseable {
    private final RdmaRawEventLoopGroup group;
    private final Channel listener;

    public KernelBridge(String device, InetSocketAddress server) {
        group = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder().ipDevice(device).build());
        listener = new ServerBootstrap().group(group).channel(NioServerSocketChannel.class)
                .childOption(ChannelOption.AUTO_READ, false).childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel client) {
                        connect(client, server);
                    }
                }).bind("127.0.0.1", 0).syncUninterruptibly().channel();
    }

    private static void connect(Channel client, InetSocketAddress server) {
        Channel connection = new Bootstrap().group(client.eventLoop()).channel(RdmaRawSocketChannel.class)
                .option(ChannelOption.ALLOW_HALF_CLOSURE, true).handler(new Relay(client)).connect(server)
                .addListener(future -> {
                    if (future.isSuccess()) {
                        client.config().setAutoRead(true);
                    } else {
                        client.close();
                    }
                }).channel();
        client.pipeline().addLast(new Relay(connection));
    }

    public InetSocketAddress address() {
        return (InetSocketAddress) listener.localAddress();
    }

    @Override
    public void close() {
        listener.close().syncUninterruptibly();
        group.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }
}
