package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.DatagramPacket;
import io.rdmaraw.channel.RdmaRawChannelOption;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;

import java.net.InetSocketAddress;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/** A host in its own namespace, with a link and a datagram server. The server is bound to all addresses and echoes. */
final class DatagramEchoHost implements AutoCloseable {
    private final NetworkNamespace namespace;
    private final VethPair pair;
    private EventLoopGroup group;
    private RdmaRawDatagramChannel server;

    DatagramEchoHost(TestNetwork network) {
        namespace = network.namespace();
        pair = network.vethPair(namespace, network.namespace());
        // Solicitations that no packet triggers are sent from a link-local address.
        namespace.run("ip", "-6", "addr", "add", "fe80::1/64", "dev", pair.ours().name(), "nodad");
    }

    /**
     * Starts the loop and opens the server.
     *
     * @param provider prefix of the device name; the interface's name follows it
     */
    void start(String provider, RdmaRawIoHandlerConfig.Builder config) throws InterruptedException {
        group = new RdmaRawEventLoopGroup(1, namespace.threadFactory(),
                config.device(provider + pair.ours().name()).build());
        server = serve(new InetSocketAddress(0));
    }

    /** Opens another server. */
    RdmaRawDatagramChannel serve(InetSocketAddress local) throws InterruptedException {
        return serve(local, 0);
    }

    /** Opens another server, which sends its datagrams with this {@code SO_MARK}. */
    RdmaRawDatagramChannel serve(InetSocketAddress local, int mark) throws InterruptedException {
        return (RdmaRawDatagramChannel) new Bootstrap().group(group).channel(RdmaRawDatagramChannel.class)
                .option(ChannelOption.SO_RCVBUF, 1 << 20).option(RdmaRawChannelOption.SO_MARK, mark)
                .handler(new Echo()).bind(local).sync().channel();
    }

    @ChannelHandler.Sharable
    private static final class Echo extends SimpleChannelInboundHandler<DatagramPacket> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, DatagramPacket packet) {
            ctx.writeAndFlush(new DatagramPacket(packet.content().retain(), packet.sender()));
        }
    }

    NetworkNamespace namespace() {
        return namespace;
    }

    VethPair pair() {
        return pair;
    }

    RdmaRawDatagramChannel server() {
        return server;
    }

    int port() {
        return server.localAddress().getPort();
    }

    <T> T onLoop(Callable<T> task) throws Exception {
        return server.eventLoop().submit(task).get();
    }

    @Override
    public void close() {
        if (group != null) {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }
}
