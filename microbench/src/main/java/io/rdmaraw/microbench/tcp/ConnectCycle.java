package io.rdmaraw.microbench.tcp;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.DuplexChannel;
import io.rdmaraw.tools.command.ToolException;
import java.net.InetSocketAddress;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Opens and closes connections in a loop. The client half-closes each connection, the server closes it, and the client
 * opens the next one. The port of a closed connection stays in TIME-WAIT for a minute. The client therefore connects to
 * many addresses of the server in turn, each of which has its own set of ports.
 */
@Sharable
final class ConnectCycle extends ChannelInboundHandlerAdapter {
    private static final int ADDRESSES = 250;
    private static final long STOP_LIMIT_SECONDS = 30;

    private final Bootstrap bootstrap;
    private final StreamCounts counts;
    private final InetSocketAddress[] servers = new InetSocketAddress[ADDRESSES];
    private int next;
    private volatile CountDownLatch running;
    private volatile boolean stopped;
    private volatile Throwable failure;

    ConnectCycle(Bootstrap bootstrap, int port, StreamCounts counts) {
        this.bootstrap = bootstrap.clone().handler(this);
        this.counts = counts;
        for (int i = 0; i < ADDRESSES; i++) {
            servers[i] = new InetSocketAddress("127.0.1." + (i + 1), port);
        }
    }

    void start(int parallel) {
        running = new CountDownLatch(parallel);
        bootstrap.config().group().execute(() -> {
            for (int i = 0; i < parallel; i++) {
                open();
            }
        });
    }

    private void open() {
        if (stopped) {
            running.countDown();
            return;
        }
        next = (next + 1) % ADDRESSES;
        bootstrap.connect(servers[next]).addListener((ChannelFuture connected) -> {
            if (!connected.isSuccess()) {
                failure = connected.cause();
                running.countDown();
            }
        });
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        ((DuplexChannel) ctx.channel()).shutdownOutput();
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        counts.addConnection();
        open();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        failure = cause;
        ctx.close();
    }

    /** Opens no more connections and waits until the open ones have closed. */
    void stop() {
        stopped = true;
        try {
            if (!running.await(STOP_LIMIT_SECONDS, TimeUnit.SECONDS)) {
                throw new ToolException("connections did not end within " + STOP_LIMIT_SECONDS + " seconds");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (failure != null) {
            throw new ToolException("a connection failed: " + failure, failure);
        }
    }
}
