package io.rdmaraw.channel;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SingleThreadIoEventLoop;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.DefaultThreadFactory;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Creation, binding and shutdown of a group, as with Netty's groups. */
class RdmaRawEventLoopGroupTest {
    @Test
    void threadsComeFromAFactory() throws Exception {
        ThreadFactory factory = new DefaultThreadFactory("ours");
        for (EventLoopGroup group : new EventLoopGroup[] {new RdmaRawEventLoopGroup(factory),
            new RdmaRawEventLoopGroup(1, factory)}) {
            try {
                String name = group.submit(() -> Thread.currentThread().getName()).get(30, TimeUnit.SECONDS);
                assertTrue(name.startsWith("ours-"), name);
            } finally {
                group.shutdownGracefully(0, 0, TimeUnit.SECONDS).get(30, TimeUnit.SECONDS);
            }
        }
    }

    @Test
    void groupHasReadableToString() throws Exception {
        RdmaRawIoHandlerConfig config = RdmaRawIoHandlerConfig.builder().device("soft:loop:group").build();
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(2, config);
        assertEquals("RdmaRawEventLoopGroup(2 loops, " + config + ')', group.toString());
        group.shutdownGracefully(0, 0, TimeUnit.SECONDS).get(30, TimeUnit.SECONDS);
        assertEquals("RdmaRawEventLoopGroup(2 loops, terminated, " + config + ')', group.toString());
    }

    /** The bind runs while the other loops are still opening their queues. */
    @RepeatedTest(3)
    void serverCanBeBoundDirectlyAfterRegistration() throws Exception {
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(4,
                StreamFixture.config(LoopDevice.inMemory().name).build());
        try {
            RdmaRawServerSocketChannel server = new RdmaRawServerSocketChannel();
            server.pipeline().addLast(new ChannelInboundHandlerAdapter() {
                @Override
                public void channelRead(ChannelHandlerContext ctx, Object msg) {
                    Channel child = (Channel) msg;
                    child.pipeline().addLast(new StreamFixture.Echo());
                    group.register(child);
                }
            });
            group.register(server);
            server.bind(new InetSocketAddress("127.0.0.1", 0)).sync();
            StreamFixture fixture = StreamFixture.ofOneGroup(group);
            BlockingQueue<Object> echoed = new LinkedBlockingQueue<>();
            for (int i = 0; i < 8; i++) {
                fixture.connect(server.localAddress(), new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelRead(ChannelHandlerContext ctx, Object msg) {
                        ReferenceCountUtil.release(msg);
                        echoed.add(ctx.channel().id());
                    }
                }).writeAndFlush(Unpooled.wrappedBuffer(new byte[1]));
                assertNotNull(echoed.poll(Patience.SECONDS, TimeUnit.SECONDS), "an echo");
            }
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).get(30, TimeUnit.SECONDS);
        }
    }

    /** The other loop's answer, which completes the registration, waits behind the bind. */
    @Test
    void aServerBoundBeforeItsRegistrationIsCompleteIsActiveOnce() throws Exception {
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(2,
                StreamFixture.config(LoopDevice.inMemory().name).build());
        AtomicInteger active = new AtomicInteger();
        CountDownLatch busy = new CountDownLatch(1);
        CountDownLatch otherBusy = new CountDownLatch(1);
        try {
            RdmaRawServerSocketChannel server = new RdmaRawServerSocketChannel();
            server.pipeline().addLast(new ChannelInboundHandlerAdapter() {
                @Override
                public void channelActive(ChannelHandlerContext ctx) {
                    active.incrementAndGet();
                }
            });
            EventLoop loop = group.next();
            EventLoop other = LoopMoves.loopThatIsNot(group, loop);
            StreamFixture.keepBusy(other, otherBusy);
            ChannelFuture registered = loop.register(server);
            StreamFixture.keepBusy(loop, busy);
            ChannelFuture bound = server.bind(new InetSocketAddress("127.0.0.1", 0));
            otherBusy.countDown();
            StreamFixture.settle(other);
            assertFalse(registered.isDone());
            busy.countDown();
            bound.sync();
            registered.sync();
            StreamFixture.settle(loop);
            assertEquals(1, active.get());
            assertTrue(server.isActive());
        } finally {
            otherBusy.countDown();
            busy.countDown();
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).get(30, TimeUnit.SECONDS);
        }
    }

    /** Its TCP may have work without a channel: connections that end, and ports of other loops. */
    @Test
    void aLoopIsNotSuspended() throws Exception {
        MultiThreadIoEventLoopGroup group = new MultiThreadIoEventLoopGroup(1, RdmaRawIoHandler.newFactory(
                StreamFixture.config(LoopDevice.inMemory().name).build()));
        try {
            SingleThreadIoEventLoop loop = (SingleThreadIoEventLoop) group.next();
            loop.submit(() -> { }).get(30, TimeUnit.SECONDS);
            assertFalse(loop.trySuspend());
        } finally {
            group.shutdownGracefully(0, 0, TimeUnit.SECONDS).get(30, TimeUnit.SECONDS);
        }
    }
}
