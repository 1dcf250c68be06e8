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

/** Servers and clients of TCP that share a loop device, and a test's way to their loops. */
final class StreamFixture implements AutoCloseable {
    private static final int TURNS_TO_SETTLE = 3;

    final EventLoopGroup servers;
    final EventLoopGroup clients;
    private final BlockingQueue<RdmaRawSocketChannel> accepted = new LinkedBlockingQueue<>();

    private StreamFixture(EventLoopGroup servers, EventLoopGroup clients) {
        this.servers = servers;
        this.clients = clients;
    }

    /** Servers and clients have loops of their own. */
    StreamFixture(RdmaRawIoHandlerConfig servers, int serverLoops, RdmaRawIoHandlerConfig clients, int clientLoops) {
        this(new RdmaRawEventLoopGroup(serverLoops, servers), new RdmaRawEventLoopGroup(clientLoops, clients));
    }

    StreamFixture(LoopDevice device, int serverLoops, int clientLoops) {
        this(config(device.name).build(), serverLoops, config(device.name).build(), clientLoops);
    }

    /** Servers and clients have the same loops. */
    static StreamFixture ofOneGroup(LoopDevice device, int loops) {
        return ofOneGroup(new RdmaRawEventLoopGroup(loops, config(device.name).build()));
    }

    static StreamFixture ofOneGroup(EventLoopGroup group) {
        return new StreamFixture(group, group);
    }

    /** Queues that are large enough for a few connections. */
    static RdmaRawIoHandlerConfig.Builder config(String device) {
        return RdmaRawIoHandlerConfig.builder().ipDevice(device).receiveQueueDepth(256).sendQueueDepth(256)
                .slotCount(2048);
    }

    /** Sends back what comes in. */
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

    /** Binds a server to a free port; what it accepts has the handler, and is what {@link #accepted()} returns. */
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

    /** The server's end of the connection that was accepted next. */
    RdmaRawSocketChannel accepted() throws InterruptedException {
        RdmaRawSocketChannel channel = accepted.poll(Patience.SECONDS, TimeUnit.SECONDS);
        if (channel == null) {
            throw new AssertionError("no connection was accepted");
        }
        return channel;
    }

    /** Tells whether there is a connection for {@link #accepted()} to return at once. */
    boolean hasAccepted() {
        return !accepted.isEmpty();
    }

    /** Ends when it is interrupted: a test that asks again and again ends with its timeout. */
    static <T> T on(EventLoop loop, Callable<T> call) {
        try {
            return loop.submit(call).sync().getNow();
        } catch (InterruptedException e) {
            throw new AssertionError("interrupted while a loop was asked, by the test's timeout perhaps", e);
        }
    }

    /** The loop is in a handler from now on until the latch opens, and looks at nothing. */
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

    /** Comes back when the loop has done what it knows of now, and what that may have led to. */
    static void settle(EventLoop loop) {
        for (int turn = 0; turn < TURNS_TO_SETTLE; turn++) {
            on(loop, () -> null);
        }
    }

    /** Stops a loop until {@code end}: when this returns it takes neither frames nor tasks any more. */
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
