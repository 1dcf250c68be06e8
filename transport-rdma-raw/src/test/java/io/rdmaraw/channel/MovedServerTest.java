package io.rdmaraw.channel;

import static io.rdmaraw.channel.StreamFixture.settle;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.api.Timeout;

import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A server channel between two loops: its port stays open, as that of a kernel's socket does. */
@Timeout(60)
class MovedServerTest {
    private final LoopDevice device = LoopDevice.inMemory();
    private final BlockingQueue<Channel> accepted = new LinkedBlockingQueue<>();
    private StreamFixture fixture;
    private Channel server;

    /** The groups that a server can have. */
    enum Group {
        OURS {
            @Override
            EventLoopGroup create(RdmaRawIoHandlerConfig config) {
                return new RdmaRawEventLoopGroup(2, config);
            }
        },
        PLAIN {
            @Override
            EventLoopGroup create(RdmaRawIoHandlerConfig config) {
                return new MultiThreadIoEventLoopGroup(2, RdmaRawIoHandler.newFactory(config));
            }
        };

        abstract EventLoopGroup create(RdmaRawIoHandlerConfig config);
    }

    private void listen(Group group) throws InterruptedException {
        fixture = StreamFixture.ofOneGroup(group.create(StreamFixture.config(device.name).build()));
        server = bind(0);
    }

    private Channel bind(int port) throws InterruptedException {
        return new ServerBootstrap().group(fixture.servers).channel(RdmaRawServerSocketChannel.class)
                .handler(new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelRead(ChannelHandlerContext ctx, Object msg) {
                        accepted.add((Channel) msg);
                        ctx.fireChannelRead(msg);
                    }
                }).childHandler(new StreamFixture.Echo())
                .bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port)).sync().channel();
    }

    @AfterEach
    void shutDown() {
        fixture.close();
    }

    private InetSocketAddress address() {
        return (InetSocketAddress) server.localAddress();
    }

    private Channel takeAccepted() throws InterruptedException {
        Channel child = accepted.poll(Patience.SECONDS, TimeUnit.SECONDS);
        assertTrue(child != null, "no connection was accepted");
        return child;
    }

    private void echo(Channel client, CountDownLatch read) throws InterruptedException {
        client.writeAndFlush(Unpooled.wrappedBuffer(new byte[1])).sync();
        assertTrue(read.await(Patience.SECONDS, TimeUnit.SECONDS), "no echo");
    }

    private static ChannelInboundHandlerAdapter reader(CountDownLatch read) {
        return new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext ctx, Object msg) {
                ((ByteBuf) msg).release();
                read.countDown();
            }
        };
    }

    @ParameterizedTest
    @EnumSource
    void connectionsWaitForItsNextLoop(Group group) throws Exception {
        listen(group);
        EventLoop first = server.eventLoop();
        CountDownLatch read = new CountDownLatch(1);
        server.deregister().sync();
        Channel client = fixture.connect(address(), reader(read));
        settle(first);
        assertTrue(accepted.isEmpty(), "accepted on no loop");
        EventLoop second = LoopMoves.loopThatIsNot(fixture.servers, first);
        second.register(server).sync();
        assertSame(server, takeAccepted().parent());
        echo(client, read);
        CountDownLatch next = new CountDownLatch(1);
        echo(fixture.connect(address(), reader(next)), next);
    }

    @ParameterizedTest
    @EnumSource
    void pendingReadIsKept(Group group) throws Exception {
        listen(group);
        server.config().setAutoRead(false);
        server.read();
        EventLoop first = server.eventLoop();
        settle(first);
        server.deregister().sync();
        fixture.connect(address(), new ChannelInboundHandlerAdapter());
        fixture.connect(address(), new ChannelInboundHandlerAdapter());
        EventLoop second = LoopMoves.loopThatIsNot(fixture.servers, first);
        second.register(server).sync();
        takeAccepted();
        settle(second);
        settle(first);
        assertTrue(accepted.isEmpty(), "one read accepts one connection");
        server.read();
        takeAccepted();
    }

    @ParameterizedTest
    @EnumSource
    void portStaysTaken(Group group) throws Exception {
        listen(group);
        int port = address().getPort();
        server.deregister().sync();
        Throwable refusal = null;
        try {
            bind(port);
        } catch (Exception e) {
            refusal = e;
        }
        assertInstanceOf(BindException.class, refusal);
    }

    @ParameterizedTest
    @EnumSource
    void closeEndsTheConnectionsThatWait(Group group) throws Exception {
        listen(group);
        int port = address().getPort();
        server.deregister().sync();
        Channel client = fixture.connect(address(), new ChannelInboundHandlerAdapter());
        server.close().sync();
        assertTrue(client.closeFuture().await(Patience.MILLIS), "the connection lives on");
        assertFalse(server.isOpen());
        bind(port);
    }
}
