package io.rdmaraw.examples.proxy;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.rdmaraw.channel.NioChannels;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawSocketChannel;

import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;

/**
 * Forwards connections of kernel sockets on this host to a TCP server on a loop device. Each connection accepted by a
 * NIO channel continues as a connection on the device.
 */
public final class KernelBridge {
    private KernelBridge() {
    }

    /**
     * Listens with a kernel socket on the address and port of the server until the server is closed.
     *
     * @throws Exception if the port is in use in the kernel
     */
    public static void open(String device, Channel server) throws Exception {
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1,
                RdmaRawIoHandlerConfig.builder().device(device).nioChannels(NioChannels.ALLOWED).build());
        server.closeFuture().addListener(closed -> group.shutdownGracefully(0, 5, TimeUnit.SECONDS));
        new ServerBootstrap().group(group).channel(NioServerSocketChannel.class)
                .childOption(ChannelOption.AUTO_READ, false).childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel client) {
                        connect(client, server.localAddress());
                    }
                }).bind(server.localAddress()).sync();
    }

    private static void connect(Channel client, SocketAddress server) {
        Channel connection = new Bootstrap().group(client.eventLoop()).channel(RdmaRawSocketChannel.class)
                .option(ChannelOption.ALLOW_HALF_CLOSURE, true).handler(new TcpProxyHandler(client)).connect(server)
                .addListener(future -> {
                    if (future.isSuccess()) {
                        client.config().setAutoRead(true);
                    } else {
                        client.close();
                    }
                }).channel();
        client.pipeline().addLast(new TcpProxyHandler(connection));
    }
}
