package io.rdmaraw.microbench.tcp;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/**
 * Opens one connection after the other. Each connection receives one answer and is then closed. Several of these
 * clients run concurrently, so that their rate shows how many connections a server accepts even if a connect takes
 * long.
 */
@Sharable
final class ConnectRateClient extends RequestClient {
    /** Number of these clients that run concurrently. */
    static final int AT_ONCE = 16;
    /** Pause between two connections. It keeps the load of these clients negligible. */
    private static final long PAUSE_MILLIS = 5 * AT_ONCE;

    private final Bootstrap bootstrap;
    private final InetSocketAddress server;
    private final StreamCounts counts;
    private volatile boolean stopped;

    ConnectRateClient(Bootstrap bootstrap, InetSocketAddress server, StreamCounts counts) {
        this.bootstrap = bootstrap.clone().option(ChannelOption.SO_LINGER, 0).handler(this);
        this.server = server;
        this.counts = counts;
    }

    void start() {
        bootstrap.connect(server).addListener((ChannelFuture connected) -> {
            if (!connected.isSuccess()) {
                another(connected.channel().eventLoop());
            }
        });
    }

    void stop() {
        stopped = true;
    }

    private void another(EventLoop loop) {
        if (!stopped) {
            loop.schedule(this::start, PAUSE_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        request(ctx);
        ctx.flush();
    }

    @Override
    void answered(ChannelHandlerContext ctx, long nanos) {
        counts.addConnection();
        ctx.close();
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        another(ctx.channel().eventLoop());
    }
}
