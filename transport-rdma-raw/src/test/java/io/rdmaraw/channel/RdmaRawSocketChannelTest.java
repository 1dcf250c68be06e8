package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.util.CharsetUtil;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.UncheckedBooleanSupplier;
import io.rdmaraw.host.PortTable;
import io.rdmaraw.host.loopback.LoopbackHost;
import io.rdmaraw.loop.CrossLoopQueueLimit;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.metrics.RdmaRawTcpStatistics;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.tcp.stack.ForwardingTable;
import io.rdmaraw.tcp.stack.TcpStack;
import io.rdmaraw.tcp.stack.TcpTransport;
import io.rdmaraw.wire.IpProtocol;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.BindException;
import java.net.ConnectException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** TCP channels on a loop device: assignment to loops, moves between loops, errors. */
@Timeout(60)
class RdmaRawSocketChannelTest {
    private static final int FIRST_EPHEMERAL_PORT = 32768;
    private static final int LAST_EPHEMERAL_PORT = 60999;
    private static final int FREE_PORTS = 3;

    private final LoopDevice device = new LoopDevice();
    private final RdmaRawIoHandlerConfig config = RdmaRawIoHandlerConfig.builder().device(device.name)
            .receiveQueueDepth(256).sendQueueDepth(256).slotCount(1024).build();
    private final List<EventLoopGroup> groups = new ArrayList<>();
    private final BlockingQueue<Channel> children = new LinkedBlockingQueue<>();

    @AfterEach
    void shutDown() {
        groups.forEach(group -> group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly());
    }

    private EventLoopGroup ours(int loops) {
        EventLoopGroup group = new RdmaRawEventLoopGroup(loops, config);
        groups.add(group);
        return group;
    }

    private EventLoopGroup plain(int loops) {
        EventLoopGroup group = new MultiThreadIoEventLoopGroup(loops, RdmaRawIoHandler.newFactory(config));
        groups.add(group);
        return group;
    }

    private final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public boolean isSharable() {
            return true;
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            children.add(ctx.channel());
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ctx.write(msg);
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }
    }

    private static final class Client extends ChannelInboundHandlerAdapter {
        private final StringBuilder received = new StringBuilder();
        private final BlockingQueue<String> progress = new LinkedBlockingQueue<>();

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            received.append(((ByteBuf) msg).toString(CharsetUtil.US_ASCII));
            ((ByteBuf) msg).release();
            progress.add(received.toString());
        }

        void await(String expected) throws InterruptedException {
            String now = "";
            while (!now.equals(expected)) {
                assertTrue(expected.startsWith(now), "what came is what was sent");
                now = progress.poll(20, TimeUnit.SECONDS);
            }
        }
    }

    private InetSocketAddress serve(EventLoopGroup boss, EventLoopGroup workers) throws InterruptedException {
        return (InetSocketAddress) new ServerBootstrap().group(boss, workers)
                .channel(RdmaRawServerSocketChannel.class).childHandler(new Echo())
                .bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0)).sync().channel().localAddress();
    }

    private static Channel connect(EventLoopGroup group, InetSocketAddress server, Client client)
            throws InterruptedException {
        return new Bootstrap().group(group).channel(RdmaRawSocketChannel.class).handler(client).connect(server).sync()
                .channel();
    }

    private static void send(Channel channel, String text) throws InterruptedException {
        channel.writeAndFlush(Unpooled.copiedBuffer(text, CharsetUtil.US_ASCII)).sync();
    }

    /**
     * The channel returns the peer's address with the name that the caller has resolved, as Netty's other transports
     * and the JDK do.
     */
    @Test
    void remoteAddressKeepsResolvedName() throws IOException, InterruptedException {
        EventLoopGroup group = ours(1);
        int port = serve(group, group).getPort();
        InetAddress named = InetAddress.getByAddress("a.name.example", new byte[] {127, 0, 0, 1});
        Channel channel = connect(group, new InetSocketAddress(named, port), new Client());
        assertEquals("a.name.example", ((InetSocketAddress) channel.remoteAddress()).getHostString());
        InetAddress any = InetAddress.getByAddress("any.example", new byte[4]);
        Channel toThisHost = connect(group, new InetSocketAddress(any, port), new Client());
        assertTrue(((InetSocketAddress) toThisHost.remoteAddress()).getAddress().isLoopbackAddress());
    }

    @Test
    void childrenAreOnLoopThatReceivesTheirSegments() throws InterruptedException {
        EventLoopGroup group = ours(3);
        InetSocketAddress server = serve(group, group);
        Client client = new Client();
        Channel channel = connect(group, server, client);
        send(channel, "hello");
        client.await("hello");
        RdmaRawSocketChannel child = (RdmaRawSocketChannel) children.take();
        assertSame(child.eventLoop(), child.transport().loop());
        assertEquals(0, child.tcpStack().statistics().movedConnections);
    }

    @Test
    void connectionsMoveToLoopsOfChildren() throws InterruptedException {
        EventLoopGroup boss = plain(1);
        EventLoopGroup workers = plain(2);
        InetSocketAddress server = serve(boss, workers);
        EventLoopGroup clients = plain(1);
        String text = "0123456789".repeat(5000);
        for (int i = 0; i < 4; i++) {
            Client client = new Client();
            Channel channel = connect(clients, server, client);
            send(channel, text);
            client.await(text);
            RdmaRawSocketChannel child = (RdmaRawSocketChannel) children.take();
            assertSame(workers, child.eventLoop().parent());
            assertSame(child.eventLoop(), child.transport().loop());
            ChannelFuture closed = i % 2 == 0 ? child.close() : channel.close();
            closed.sync();
            child.closeFuture().sync();
            channel.closeFuture().sync();
        }
    }

    @Test
    void connectionMovesWithItsChannel() throws InterruptedException {
        EventLoopGroup group = ours(3);
        InetSocketAddress server = serve(group, group);
        Client client = new Client();
        RdmaRawSocketChannel channel = (RdmaRawSocketChannel) connect(group, server, client);
        StringBuilder sent = new StringBuilder();
        for (int move = 0; move < 6; move++) {
            channel.deregister().sync();
            group.next().register(channel).sync();
            send(channel, "after move " + move + ' ');
            sent.append("after move ").append(move).append(' ');
            client.await(sent.toString());
            assertSame(channel.eventLoop(), channel.transport().loop());
        }
    }

    /**
     * A loop has accepted a connection for a server channel that moves to another loop before the task runs. The
     * channel reads it on its new loop.
     */
    @Test
    void movedServerAcceptsOnItsNewLoop() throws InterruptedException {
        EventLoopGroup group = plain(2);
        TcpTransport flow = (TcpTransport) ((RdmaRawSocketChannel) connect(group, serve(group, group),
                new Client())).transport();
        BlockingQueue<Thread> threads = new LinkedBlockingQueue<>();
        RdmaRawServerSocketChannel server = (RdmaRawServerSocketChannel) new Bootstrap().group(group)
                .channel(RdmaRawServerSocketChannel.class).handler(new ChannelInboundHandlerAdapter())
                .option(ChannelOption.RECVBUF_ALLOCATOR, new ThreadsThatRead(threads)).register().sync().channel();
        server.read();
        EventLoop before = server.eventLoop();
        EventLoop after = other(before);
        CountDownLatch moved = new CountDownLatch(1);
        ChannelFuture left = before.submit(() -> {
            ChannelFuture leaving = server.deregister();
            before.execute(() -> awaitUninterruptibly(moved));
            return leaving;
        }).sync().getNow();
        server.accepted(flow);
        try {
            left.sync();
            after.register(server).sync();
        } finally {
            moved.countDown();
        }
        Thread loop = after.submit(Thread::currentThread).sync().getNow();
        assertSame(loop, threads.poll(20, TimeUnit.SECONDS), "the thread that reads from the server");
    }

    private static EventLoop other(EventLoop loop) {
        EventLoop next = loop.parent().next();
        return next != loop ? next : loop.parent().next();
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Records the threads that complete a read. */
    @SuppressWarnings("deprecation") // RecvByteBufAllocator is replaced in Netty 5 only
    private record ThreadsThatRead(BlockingQueue<Thread> threads) implements RecvByteBufAllocator {
        @Override
        public Handle newHandle() {
            return new NotingHandle();
        }

        private final class NotingHandle extends DelegatingHandle implements ExtendedHandle {
            NotingHandle() {
                super(new FixedRecvByteBufAllocator(64).newHandle());
            }

            @Override
            public boolean continueReading(UncheckedBooleanSupplier maybeMoreData) {
                return false;
            }

            @Override
            public void readComplete() {
                threads.add(Thread.currentThread());
                super.readComplete();
            }
        }
    }

    /** Forwarded frames occupy memory until the other loop processes them, so their number is limited. */
    @Test
    void framesForwardedToSlowLoopAreLimited() throws InterruptedException {
        EventLoopGroup group = ours(1);
        Client client = new Client();
        RdmaRawSocketChannel channel = (RdmaRawSocketChannel) connect(group, serve(group, group), client);
        TcpTransport flow = (TcpTransport) channel.transport();
        ForwardingTable forwardingTable = new ForwardingTable();
        CountDownLatch behind = new CountDownLatch(1);
        channel.eventLoop().execute(() -> awaitUninterruptibly(behind));
        List<ByteBuf> frames = new ArrayList<>();
        int dropped = 0;
        try {
            dropped = passThreeTimesTheLimit(forwardingTable, flow, frames);
        } finally {
            behind.countDown();
        }
        assertEquals(2 * CrossLoopQueueLimit.MAX_FRAMES, dropped);
        channel.eventLoop().submit(() -> { }).sync();
        assertTrue(frames.stream().allMatch(frame -> frame.refCnt() == 0), "every frame is given back");
        forwardingTable.enqueue(flow, Unpooled.directBuffer(64).writeZero(64), false);
        assertEquals(0, forwardingTable.flush(), "it is passed frames again");
        send(channel, "still there");
        client.await("still there");
    }

    private static int passThreeTimesTheLimit(ForwardingTable forwardingTable, TcpTransport flow,
            List<ByteBuf> frames) {
        int dropped = 0;
        for (int burst = 0; burst < 3 * CrossLoopQueueLimit.MAX_FRAMES / FrameQueue.MAX_BURST_FRAMES; burst++) {
            for (int i = 0; i < FrameQueue.MAX_BURST_FRAMES; i++) {
                ByteBuf frame = Unpooled.directBuffer(64).writeZero(64);
                frames.add(frame);
                forwardingTable.enqueue(flow, frame, false);
            }
            dropped += forwardingTable.flush();
        }
        assertEquals(dropped, frames.stream().filter(frame -> frame.refCnt() == 0).count());
        return dropped;
    }

    @Test
    void tcpCountersAreKeptPerLoop() throws InterruptedException {
        EventLoopGroup group = ours(1);
        InetSocketAddress server = serve(group, group);
        Client client = new Client();
        send(connect(group, server, client), "count me");
        client.await("count me");
        RdmaRawMetered tcp = RdmaRawMetrics.loops().stream().flatMap(loop -> loop.queues().stream())
                .filter(queue -> queue.deviceName().equals(device.name)).findFirst().orElseThrow()
                .channels().get("tcp");
        assertEquals(2 * "count me".length(), count(tcp, "received.payload.bytes"));
        assertEquals(1, count(tcp, "opened.connections"));
        assertEquals(1, count(tcp, "accepted.connections"));
        assertEquals(2, count(tcp, "connections"));
        assertEquals(0, count(tcp, "forwarded.segments"));
    }

    private static long count(RdmaRawMetered counting, String name) {
        return counting.value(counting.metrics().stream().filter(metric -> metric.name().equals(name)).findFirst()
                .orElseThrow());
    }

    /**
     * Ephemeral ports are tried in order from a random one; here only a few are free, so the port in TIME-WAIT would be
     * chosen again.
     */
    @Test
    void portInTimeWaitIsSkipped() throws Exception {
        EventLoopGroup group = ours(1);
        InetSocketAddress server = serve(group, group);
        leaveEphemeralPorts(FREE_PORTS, server.getPort());
        RdmaRawSocketChannel first = (RdmaRawSocketChannel) connect(group, server, new Client());
        RdmaRawTcpStatistics counters = first.tcpStack().statistics();
        first.close().sync();
        children.take().closeFuture().sync();
        while (count(counters, "time-wait") == 0) {
            group.next().submit(() -> { }).sync();
        }
        Client client = new Client();
        Channel second = connect(group, server, client);
        send(second, "hello");
        client.await("hello");
        assertNotEquals(first.localAddress(), second.localAddress());
    }

    private void leaveEphemeralPorts(int free, int taken) throws BindException {
        PortTable ports = LoopbackHost.of(device.name).ports();
        for (int port = FIRST_EPHEMERAL_PORT + free; port <= LAST_EPHEMERAL_PORT; port++) {
            if (port != taken) {
                ports.bind(IpProtocol.TCP, LoopbackHost.newMac(), IpAddress.LOOPBACK_IPV4, false, port,
                        PortSharing.NONE, null);
            }
        }
    }

    @Test
    void connectToPortZeroFails() throws InterruptedException {
        EventLoopGroup group = ours(1);
        Throwable cause = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class).handler(new Client())
                .connect(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0)).await().cause();
        assertInstanceOf(ConnectException.class, cause);
    }

    @Test
    void connectToUnboundPortIsRefused() throws InterruptedException {
        EventLoopGroup group = ours(1);
        InetSocketAddress nobody = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 7);
        Throwable cause = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class).handler(new Client())
                .connect(nobody).await().cause();
        assertInstanceOf(ConnectException.class, cause);
        assertEquals("Connection refused: /127.0.0.1:7", cause.getMessage());
    }

    /** A server channel is registered only when all loops of its group are ready, and may be closed before that. */
    @Test
    void serverClosedDuringRegistrationIsNotRegistered() throws InterruptedException {
        EventLoopGroup group = ours(2);
        RdmaRawEventLoop first = (RdmaRawEventLoop) group.next();
        EventLoop second = group.next();
        CountDownLatch busy = new CountDownLatch(1);
        second.submit(() -> busy.await(60, TimeUnit.SECONDS));
        RdmaRawServerSocketChannel server = new RdmaRawServerSocketChannel();
        ChannelFuture registered = first.register(server);
        first.submit(() -> { }).sync();
        server.close().sync();
        busy.countDown();
        assertInstanceOf(ClosedChannelException.class, registered.awaitUninterruptibly().cause());
        first.submit(() -> { }).sync();
        assertFalse(server.isRegistered());
        assertEquals(0, first.submit(() -> first.handler().registrationCount()).sync().getNow());
    }

    private ChannelFuture share(EventLoop loop, int port) throws InterruptedException {
        return new ServerBootstrap().group(loop).channel(RdmaRawServerSocketChannel.class)
                .option(RdmaRawChannelOption.SO_REUSEPORT, true).childHandler(new Echo())
                .bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port)).await();
    }

    /**
     * Two servers on one port and one loop could not be distinguished. The second bind fails and the first server
     * continues.
     */
    @Test
    void serversSharingPortNeedDifferentLoops() throws InterruptedException {
        EventLoopGroup group = ours(2);
        EventLoop first = group.next();
        Channel server = share(first, 0).channel();
        InetSocketAddress at = (InetSocketAddress) server.localAddress();
        Throwable refusal = share(first, at.getPort()).cause();
        assertInstanceOf(BindException.class, refusal);
        assertTrue(refusal.getMessage().contains("another event loop"), refusal.getMessage());
        ChannelFuture other = share(group.next(), at.getPort());
        assertTrue(other.isSuccess(), () -> "on another loop: " + other.cause());
        for (int i = 0; i < 8; i++) {
            Client client = new Client();
            send(connect(group, at, client), "hello");
            client.await("hello");
        }
        server.close().sync();
        assertTrue(share(first, at.getPort()).isSuccess(), "when it has closed another takes its place");
    }

    /**
     * Setting a mark looks up the path again. The lookup must not move the connection to the loop of another server
     * that now shares the port.
     */
    @Test
    void markKeepsConnectionOnLoopOfItsServer() throws InterruptedException {
        EventLoopGroup group = ours(2);
        InetSocketAddress at = (InetSocketAddress) share(group.next(), 0).channel().localAddress();
        List<Channel> opened = new ArrayList<>();
        List<Client> clients = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            clients.add(new Client());
            opened.add(connect(group, at, clients.get(i)));
            send(opened.get(i), "hello");
            clients.get(i).await("hello");
        }
        assertTrue(share(group.next(), at.getPort()).isSuccess());
        for (int i = 0; i < 16; i++) {
            opened.get(i).config().setOption(RdmaRawChannelOption.SO_MARK, i % 2);
            send(opened.get(i), "again");
            clients.get(i).await("helloagain");
        }
    }

    /** Connections in handshake and the kernel socket would keep the old mark. */
    @Test
    void markOfBoundServerCannotBeChanged() throws InterruptedException {
        Channel server = share(ours(1).next(), 0).channel();
        assertTrue(server.config().setOption(RdmaRawChannelOption.SO_MARK, 0), "as it is");
        assertThrows(IllegalStateException.class,
                () -> server.config().setOption(RdmaRawChannelOption.SO_MARK, 1));
        assertEquals(0, server.config().getOption(RdmaRawChannelOption.SO_MARK));
    }

    @Test
    void manySimultaneousResetsAreAllSent() throws InterruptedException {
        EventLoopGroup servers = ours(1);
        InetSocketAddress at = serve(servers, servers);
        EventLoopGroup clients = ours(1);
        List<Channel> opened = new ArrayList<>();
        for (int i = 0; i < 600; i++) {
            Channel channel = connect(clients, at, new Client());
            channel.config().setOption(ChannelOption.SO_LINGER, 0);
            opened.add(channel);
        }
        List<Channel> accepted = new ArrayList<>();
        while (accepted.size() < opened.size()) {
            accepted.add(children.take());
        }
        TcpStack stack = ((RdmaRawSocketChannel) opened.getFirst()).tcpStack();
        TcpStack peers = ((RdmaRawSocketChannel) accepted.getFirst()).tcpStack();
        // During a read, output waits for the end of the turn.
        ChannelInboundHandlerAdapter closing = new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext ctx, Object msg) {
                ReferenceCountUtil.release(msg);
                opened.forEach(Channel::close);
            }
        };
        // Added on the loop, so that the handler is in place at once.
        clients.next().submit(() -> opened.getFirst().pipeline().addFirst(closing)).sync();
        InetSocketAddress first = (InetSocketAddress) opened.getFirst().localAddress();
        Channel its = accepted.stream().filter(each -> each.remoteAddress().equals(first)).findFirst().orElseThrow();
        its.writeAndFlush(Unpooled.wrappedBuffer(new byte[1]));
        for (Channel each : opened) {
            each.closeFuture().sync();
        }
        Patience.until(() -> clients.next().submit(() -> stack.engine().counters().resetsOut).syncUninterruptibly()
                .getNow() >= opened.size(), "all resets");
        assertEquals(0, stack.engine().counters().droppedReplies);
        // If the loop is late, the peer repeats its byte, to which a reset is sent as well.
        long resets = clients.next().submit(() -> stack.engine().counters().resetsOut).sync().getNow();
        long repeated = servers.next().submit(() -> peers.engine().counters().retransmittedSegments).sync().getNow();
        assertTrue(resets <= opened.size() + repeated, resets + " resets, " + repeated + " repeated segments");
    }
}
