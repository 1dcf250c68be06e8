package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultChannelPromise;
import io.netty.channel.DefaultFileRegion;
import io.netty.channel.EventLoop;
import io.rdmaraw.kernel.KernelTransport;
import io.rdmaraw.tcp.stack.TcpStackStatistics;
import io.rdmaraw.wire.ParseCounters;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.io.File;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A connection carried by a kernel socket: the results of writes, and moves between loops. */
class KernelTransportTest {
    private static final int LOOPS = 3;
    private static final int ROUNDS = 200;

    private final LoopDevice device = new LoopDevice();
    private final RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(LOOPS,
            RdmaRawIoHandlerConfig.builder().device(device.name).build());
    private RdmaRawSocketChannel channel;
    private KernelTransport connection;

    private void connect(ServerSocket server) throws Exception {
        channel = (RdmaRawSocketChannel) new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                .handler(new ChannelInboundHandlerAdapter()).register().sync().channel();
        onLoop(() -> {
            connection = new KernelTransport(channel.connection(), new TcpStackStatistics(null,
                    new ParseCounters(), () -> 0, () -> 0, most -> null));
            connection.connect(null, (InetSocketAddress) server.getLocalSocketAddress());
            return null;
        });
        while (!onLoop(connection::isConnected)) {
            Thread.onSpinWait();
        }
    }

    @AfterEach
    void shutDown() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private <T> T onLoop(Callable<T> call) {
        return StreamFixture.on(channel.eventLoop(), call);
    }

    private ChannelPromise add(ChannelOutboundBuffer buffer) {
        ByteBuf message = Unpooled.directBuffer(8).writeLong(0);
        ChannelPromise promise = new DefaultChannelPromise(channel);
        buffer.addMessage(message, message.readableBytes(), promise);
        buffer.addFlush();
        return promise;
    }

    /**
     * The listener of a failed message writes more messages while the rest of the flush is being written. All of them
     * must fail.
     */
    @Test
    void allMessagesOfRefusingSocketFail() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            connect(server);
            server.accept().close();
            List<ChannelPromise> promises = new ArrayList<>();
            onLoop(() -> {
                connection.shutdownOutput();
                for (int round = 0; round < ROUNDS; round++) {
                    ChannelOutboundBuffer buffer = channel.unsafe().outboundBuffer();
                    ChannelPromise first = add(buffer);
                    promises.add(first);
                    promises.add(add(buffer));
                    first.addListener(failed -> {
                        promises.add(add(buffer));
                        promises.add(add(buffer));
                    });
                    connection.write(buffer, channel.alloc());
                    assertTrue(buffer.isEmpty());
                }
                return null;
            });
            assertEquals(4 * ROUNDS, promises.size());
            for (ChannelPromise promise : promises) {
                assertTrue(promise.isDone(), "a message was forgotten");
                assertFalse(promise.isSuccess(), "a message that nobody took counts as written");
            }
        }
    }

    /** As on NIO: handlers see a closed channel when they get the exception of a write without a promise. */
    @Test
    void failedWriteClosesTheChannelBeforeItIsReported() throws Exception {
        CompletableFuture<Boolean> openWhenReported = new CompletableFuture<>();
        RdmaRawIoHandlerConfig byKernel = RdmaRawIoHandlerConfig.builder().device(device.name)
                .connectsByDevice(remote -> false).build();
        RdmaRawEventLoopGroup kernelGroup = new RdmaRawEventLoopGroup(1, byKernel);
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Channel client = new Bootstrap().group(kernelGroup).channel(RdmaRawSocketChannel.class)
                    .handler(new ChannelInboundHandlerAdapter() {
                        @Override
                        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
                            openWhenReported.complete(ctx.channel().isOpen());
                        }
                    }).connect(server.getLocalSocketAddress()).sync().channel();
            File empty = File.createTempFile("rdma-raw", null);
            client.writeAndFlush(new DefaultFileRegion(empty, 0, 10), client.voidPromise());
            assertFalse(openWhenReported.get(Patience.SECONDS, TimeUnit.SECONDS));
            assertTrue(empty.delete());
        } finally {
            kernelGroup.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    @Test
    void nothingIsReadBeforeTheRegistrationIsComplete() throws Exception {
        List<String> events = new CopyOnWriteArrayList<>();
        RdmaRawEventLoopGroup kernelGroup = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder()
                .device(device.name).connectsByDevice(remote -> false).build());
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            RdmaRawSocketChannel client = (RdmaRawSocketChannel) new Bootstrap().group(kernelGroup)
                    .channel(RdmaRawSocketChannel.class).handler(new ChannelInboundHandlerAdapter() {
                        @Override
                        public void channelRegistered(ChannelHandlerContext ctx) {
                            events.add("registered");
                        }

                        @Override
                        public void channelRead(ChannelHandlerContext ctx, Object msg) {
                            ((ByteBuf) msg).release();
                            events.add("read");
                        }
                    }).connect(server.getLocalSocketAddress()).sync().channel();
            EventLoop loop = client.eventLoop();
            client.deregister().sync();
            server.accept().getOutputStream().write(1);
            Patience.until(() -> StreamFixture.on(loop, () -> !client.transport().received().isEmpty()), "the byte");
            loop.register(client).sync();
            Patience.until(() -> events.contains("read"), "a read");
            assertEquals(List.of("registered", "registered", "read"), events);
        } finally {
            kernelGroup.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /** The socket is on its way to the first loop, where the channel is; it leaves its old one when the task ends. */
    private List<EventLoop> otherLoopsWithTheSocketOnItsWay(CountDownLatch busy) throws Exception {
        List<EventLoop> loops = new ArrayList<>();
        group.forEach(loop -> loops.add((EventLoop) loop));
        EventLoop before = channel.eventLoop();
        loops.remove(before);
        onLoop(() -> {
            connection.detach();
            return null;
        });
        channel.deregister().sync();
        before.submit(() -> {
            busy.await();
            return null;
        });
        loops.getFirst().register(channel).sync();
        attach();
        return loops;
    }

    private void attach() throws Exception {
        onLoop(() -> {
            connection.attach(null, null);
            return null;
        });
    }

    private void awaitAttached(EventLoop loop) throws Exception {
        while (!onLoop(connection::isAttached)) {
            Thread.onSpinWait();
        }
        assertSame(loop, connection.loop());
    }

    /** The channel moves on before the socket has arrived at its loop. */
    @Test
    void socketFollowsChannelThatMovesOn() throws Exception {
        CountDownLatch busy = new CountDownLatch(1);
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            connect(server);
            List<EventLoop> loops = otherLoopsWithTheSocketOnItsWay(busy);
            channel.deregister().sync();
            loops.getLast().register(channel).sync();
            busy.countDown();
            awaitAttached(loops.getLast());
        } finally {
            busy.countDown();
        }
    }

    /** The channel is deregistered while the socket is on its way to the loop that the channel has left. */
    @Test
    void socketDoesNotAttachToDeregisteredChannel() throws Exception {
        CountDownLatch busy = new CountDownLatch(1);
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            connect(server);
            List<EventLoop> loops = otherLoopsWithTheSocketOnItsWay(busy);
            EventLoop left = loops.getFirst();
            onLoop(() -> {
                connection.detach();
                return null;
            });
            channel.deregister().sync();
            busy.countDown();
            Patience.until(() -> connection.loop() == left, "the connection to follow");
            StreamFixture.settle(left);
            assertFalse(left.submit(connection::isAttached).sync().getNow());
            loops.getLast().register(channel).sync();
            attach();
            awaitAttached(loops.getLast());
        } finally {
            busy.countDown();
        }
    }
}
