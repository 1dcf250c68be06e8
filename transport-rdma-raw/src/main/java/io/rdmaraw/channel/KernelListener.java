package io.rdmaraw.channel;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.socket.nio.NioChannelOption;
import io.netty.channel.socket.nio.NioServerSocketChannel;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.util.function.Consumer;

/**
 * The kernel's side of a listening port: an ordinary listening socket on the same loop. It keeps the port from other
 * programs and accepts what does not come by the device: connections from this host and by other interfaces. For the
 * loop's thread, except {@link #close()}.
 */
final class KernelListener {
    private final NioServerSocketChannel socket = new NioServerSocketChannel();

    /**
     * Listens.
     *
     * @param accepted takes the channels of connections that the kernel carries
     */
    KernelListener(EventLoop loop, InetSocketAddress local, RdmaRawServerSocketChannelConfig config,
                   Consumer<Channel> accepted) throws IOException {
        socket.config().setBacklog(config.getBacklog()).setOption(ChannelOption.SO_REUSEADDR, true);
        if (config.isReusePort()) {
            socket.config().setOption(NioChannelOption.of(StandardSocketOptions.SO_REUSEPORT), true);
        }
        socket.pipeline().addLast(new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext ctx, Object child) {
                accepted.accept((Channel) child);
            }
        });
        try {
            await(loop.register(socket));
            await(socket.bind(local));
        } catch (IOException e) {
            socket.close();
            throw e;
        }
    }

    /** What is done on the loop itself is done when the call returns. */
    private static void await(ChannelFuture future) throws IOException {
        if (!future.isDone()) {
            throw new IOException("the kernel's socket did not answer at once");
        }
        if (future.cause() instanceof IOException e) {
            throw e;
        }
        if (future.cause() != null) {
            throw new IOException("the kernel's socket failed: " + future.cause().getMessage(), future.cause());
        }
    }

    int port() {
        return socket.localAddress().getPort();
    }

    void close() {
        socket.close();
    }
}
