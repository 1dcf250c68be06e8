package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultChannelPromise;
import io.netty.channel.EventLoop;
import io.rdmaraw.tcp.stack.TcpStackStatistics;
import io.rdmaraw.wire.ParseCounters;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** What a connection of the kernel's does with the messages of the channel that it carries. */
class KernelTransportTest {
    private static final int LOOPS = 3;
    private static final int ROUNDS = 200;

    private final LoopDevice device = new LoopDevice();
    private final RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(LOOPS,
            RdmaRawIoHandlerConfig.builder().ipDevice(device.name).build());
    private RdmaRawSocketChannel channel;
    private KernelTransport connection;

    private void connect(ServerSocket server) throws Exception {
        channel = (RdmaRawSocketChannel) new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                .handler(new ChannelInboundHandlerAdapter()).register().sync().channel();
        onLoop(() -> {
            connection = new KernelTransport(channel, new TcpStackStatistics(null,
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

    /** The listener of a message that has failed writes more, while those that were flushed with it are handed over. */
    @Test
    void noMessageOfASocketThatRefusesAtOnceCountsAsWritten() throws Exception {
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

    /** The socket comes to a loop that the channel has left by then. */
    @Test
    void theSocketFollowsAChannelThatGoesOnBeforeItHasArrived() throws Exception {
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

    /** The channel has left the loop that its socket comes to, and is on none. */
    @Test
    void theSocketDoesNotAttachToAChannelThatIsOnNoLoop() throws Exception {
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
