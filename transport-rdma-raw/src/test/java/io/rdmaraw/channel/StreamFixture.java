package io.rdmaraw.channel;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** TCP servers and clients that share a loop device, and helpers to run code on their loops. */
final class StreamFixture implements AutoCloseable {
    private static final int TURNS_TO_SETTLE = 3;

    final EventLoopGroup servers;
    final EventLoopGroup clients;
    private final BlockingQueue<RdmaRawSocketChannel> accepted = new LinkedBlockingQueue<>();

    private StreamFixture(EventLoopGroup servers, EventLoopGroup clients) {
        this.servers = servers;
        this.clients = clients;
    }

    /** Creates separate loops for servers and clients. */
    StreamFixture(RdmaRawIoHandlerConfig servers, int serverLoops, RdmaRawIoHandlerConfig clients, int clientLoops) {
        this(new RdmaRawEventLoopGroup(serverLoops, servers), new RdmaRawEventLoopGroup(clientLoops, clients));
    }

    StreamFixture(LoopDevice device, int serverLoops, int clientLoops) {
        this(config(device.name).build(), serverLoops, config(device.name).build(), clientLoops);
    }

    /** Uses the same loops for servers and clients. */
    static StreamFixture ofOneGroup(LoopDevice device, int loops) {
        return ofOneGroup(new RdmaRawEventLoopGroup(loops, config(device.name).build()));
    }

    static StreamFixture ofOneGroup(EventLoopGroup group) {
        return new StreamFixture(group, group);
    }

    /** Configures queues that are large enough for a few connections. */
    static RdmaRawIoHandlerConfig.Builder config(String device) {
        return RdmaRawIoHandlerConfig.builder().device(device).receiveQueueDepth(256).sendQueueDepth(256)
                .slotCount(2048);
    }

    /** Echoes received data. */
    @ChannelHandler.Sharable
    static final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ctx.write(msg);
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }
    }

    InetSocketAddress listen(ChannelHandler child) throws InterruptedException {
        return listen("127.0.0.1", child, settings -> { });
    }

    /** Binds a server to a free port. Accepted channels get the handler and are returned by {@link #accepted()}. */
    InetSocketAddress listen(String address, ChannelHandler child, Consumer<ServerBootstrap> settings)
            throws InterruptedException {
        ServerBootstrap server = new ServerBootstrap().group(servers).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new ChannelInitializer<RdmaRawSocketChannel>() {
                    @Override
                    protected void initChannel(RdmaRawSocketChannel channel) {
                        channel.pipeline().addLast(child);
                        accepted.add(channel);
                    }
                });
        settings.accept(server);
        return (InetSocketAddress) server.bind(new InetSocketAddress(InetAddress.ofLiteral(address), 0)).sync()
                .channel().localAddress();
    }

    Bootstrap client(ChannelHandler handler) {
        return new Bootstrap().group(clients).channel(RdmaRawSocketChannel.class).handler(handler);
    }

    RdmaRawSocketChannel connect(InetSocketAddress server, ChannelHandler handler) throws InterruptedException {
        return (RdmaRawSocketChannel) client(handler).connect(server).sync().channel();
    }

    /** Returns the channel of the next accepted connection. */
    RdmaRawSocketChannel accepted() throws InterruptedException {
        RdmaRawSocketChannel channel = accepted.poll(Patience.SECONDS, TimeUnit.SECONDS);
        if (channel == null) {
            throw new AssertionError("no connection was accepted");
        }
        return channel;
    }

    /** Returns whether {@link #accepted()} would return at once. */
    boolean hasAccepted() {
        return !accepted.isEmpty();
    }

    /** Runs a call on a loop. Fails when interrupted, so that a polling test ends with its timeout. */
    static <T> T on(EventLoop loop, Callable<T> call) {
        try {
            return loop.submit(call).sync().getNow();
        } catch (InterruptedException e) {
            throw new AssertionError("interrupted while a loop was asked, by the test's timeout perhaps", e);
        }
    }

    /** Blocks a loop, as by a handler, until the latch opens. */
    static void keepBusy(EventLoop loop, CountDownLatch latch) throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        loop.execute(() -> {
            begun.countDown();
            try {
                latch.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        begun.await();
    }

    /** Returns when the loop has run its pending tasks and their follow-ups. */
    static void settle(EventLoop loop) {
        for (int turn = 0; turn < TURNS_TO_SETTLE; turn++) {
            on(loop, () -> null);
        }
    }

    /** Stops a loop until the latch opens. On return the loop processes neither frames nor tasks. */
    static void silence(EventLoop loop, CountDownLatch end) throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        loop.submit(() -> {
            begun.countDown();
            return end.await(Patience.SECONDS, TimeUnit.SECONDS);
        });
        begun.await();
    }

    @Override
    public void close() {
        clients.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        servers.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }
}
