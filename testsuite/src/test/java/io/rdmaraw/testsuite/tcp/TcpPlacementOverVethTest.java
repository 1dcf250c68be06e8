package io.rdmaraw.testsuite.tcp;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.util.CharsetUtil;
import io.rdmaraw.channel.RdmaRawChannelOption;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandler;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.ServerSocket;
import java.net.Socket;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

import static io.rdmaraw.testsuite.tcp.TcpHost.address;
import static io.rdmaraw.testsuite.tcp.TcpHost.exchange;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Tests on which loops TCP connections live, with kernel sockets as peers. Segments that arrive on another loop
 * are forwarded.
 */
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class TcpPlacementOverVethTest {
    private static final int CONNECTIONS = 24;

    private NetworkNamespace host;
    private VethPair pair;
    private String device;
    private final TcpHost.Echo echo = new TcpHost.Echo();
    private final List<EventLoopGroup> groups = new ArrayList<>();
    private final List<Socket> sockets = new ArrayList<>();

    @BeforeEach
    void open(TestNetwork network) {
        host = network.namespace();
        pair = network.vethPair(host, network.namespace());
    }

    @AfterEach
    void close() throws Exception {
        for (Socket socket : sockets) {
            socket.close();
        }
        groups.forEach(group -> group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly());
    }

    private RdmaRawIoHandlerConfig config(String provider) {
        device = provider + pair.ours().name();
        return RdmaRawIoHandlerConfig.builder().device(device).build();
    }

    private <G extends EventLoopGroup> G keep(G group) {
        groups.add(group);
        return group;
    }

    private RdmaRawEventLoopGroup ours(String provider, int loops) {
        return keep(new RdmaRawEventLoopGroup(loops, host.threadFactory(), config(provider)));
    }

    private Socket connect(int port) throws Exception {
        Socket socket = TcpHost.socket(pair.peer().namespace(), pair.ours().ipv4(), port);
        sockets.add(socket);
        return socket;
    }

    /**
     * Connects until each of {@code expectedLoops} loops has a connection. Consecutive client ports may have
     * equal hashes.
     */
    private Set<EventLoop> exchangeOnMany(RdmaRawServerSocketChannel server, int expectedLoops) throws Exception {
        Set<EventLoop> loops = new HashSet<>();
        for (int i = 0; i < CONNECTIONS || loops.size() < expectedLoops && i < 10 * CONNECTIONS; i++) {
            exchange(connect(server.localAddress().getPort()), "0123456789".repeat(2000));
            loops.add(echo.channels.take().eventLoop());
        }
        for (Socket socket : sockets) {
            exchange(socket, "again");
        }
        assertEquals(expectedLoops, loops.size(), "loops that have connections");
        return loops;
    }

    private long count(String name) {
        return TcpHost.tcp(device, name);
    }

    @ParameterizedTest
    @ValueSource(strings = {"soft:packet:", "soft:xdp:"})
    void connectionsLiveOnTheLoopThatReceivesTheirSegments(String provider) throws Exception {
        RdmaRawEventLoopGroup group = ours(provider, 3);
        RdmaRawServerSocketChannel server = TcpHost.listen(group, group, address("::", 0), echo);
        exchangeOnMany(server, 3);
        assertEquals(sockets.size(), count("accepted.connections"));
        assertEquals(0, count("forwarded.segments"));
        assertEquals(0, count("moved.connections"));
        assertEquals(0, count("kernel.connections"));
        assertEquals(0, count("no-connection"));
    }

    /**
     * Local clients connect through the kernel's socket. Without such clients, that socket must not burden the
     * loop.
     */
    @ParameterizedTest
    @ValueSource(strings = {"soft:xdp:"})
    void kernelListenerDoesNotWakeTheLoops(String provider) throws Exception {
        // Threads of loops that have been shut down may not have ended yet.
        Set<Thread> ofOthers = completionWatchers();
        RdmaRawEventLoopGroup group = ours(provider, 1);
        RdmaRawServerSocketChannel server = TcpHost.listen(group, group, address("0.0.0.0", 0), echo);
        int port = server.localAddress().getPort();
        exchange(connect(port), "by the device");
        echo.channels.take();
        Await.until("the loop to sleep", () -> sleeps() > 0);
        assertTrue(ofOthers.containsAll(completionWatchers()), "a thread wakes the loop");
        Socket local = TcpHost.socket(host, pair.ours().ipv4(), port);
        sockets.add(local);
        exchange(local, "by the kernel");
        assertSame(server, echo.channels.take().parent());
        assertEquals(1, count("kernel.connections"));
        server.close().sync();
        assertEquals(port, TcpHost.listen(group, group, address("0.0.0.0", port), echo).localAddress().getPort());
    }

    private static Set<Thread> completionWatchers() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("rdma-raw-completion-watcher")).collect(Collectors.toSet());
    }

    private static long sleeps() {
        return RdmaRawMetrics.loops().stream().mapToLong(loop -> loop.metrics().stream()
                .filter(metric -> metric.name().equals("sleeps")).mapToLong(loop::value).sum()).sum();
    }

    @ParameterizedTest
    @ValueSource(strings = {"soft:xdp:"})
    void workerGroupServesThePort(String provider) throws Exception {
        RdmaRawEventLoopGroup boss = ours(provider, 1);
        RdmaRawEventLoopGroup workers = ours(provider, 2);
        RdmaRawServerSocketChannel server = TcpHost.listen(boss, workers, address(pair.ours().ipv4(), 0), echo);
        for (EventLoop loop : exchangeOnMany(server, 2)) {
            assertEquals(workers, loop.parent());
        }
        assertEquals(sockets.size(), count("accepted.connections"));
        assertEquals(0, count("forwarded.segments"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"soft:packet:", "soft:xdp:"})
    void segmentsAreForwardedToLoopsOfOtherGroups(String provider) throws Exception {
        EventLoopGroup plain = keep(new MultiThreadIoEventLoopGroup(3, host.threadFactory(),
                RdmaRawIoHandler.newFactory(config(provider))));
        RdmaRawServerSocketChannel server = TcpHost.listen(plain, plain, address(pair.ours().ipv4(), 0), echo);
        exchangeOnMany(server, 3);
        assertTrue(count("forwarded.segments") > sockets.size(), "segments were passed on");
        long moved = count("moved.connections");
        assertTrue(moved >= sockets.size() / 2, moved + " connections moved");
    }

    /** The loop that receives the connection's segments repeats its last ACK. */
    @ParameterizedTest
    @ValueSource(strings = {"soft:xdp:"})
    void timeWaitIsKeptOnTheReceivingLoop(String provider) throws Exception {
        EventLoopGroup boss = keep(new MultiThreadIoEventLoopGroup(1, host.threadFactory(),
                RdmaRawIoHandler.newFactory(config(provider))));
        EventLoopGroup workers = keep(new MultiThreadIoEventLoopGroup(1, host.threadFactory(),
                RdmaRawIoHandler.newFactory(config(provider))));
        RdmaRawServerSocketChannel server = TcpHost.listen(boss, workers, address(pair.ours().ipv4(), 0), echo);
        Socket socket = connect(server.localAddress().getPort());
        exchange(socket, "hello");
        Channel child = echo.channels.take();
        child.close().sync();
        assertEquals(-1, socket.getInputStream().read());
        socket.close();
        // One record on the connection's loop, and one on the loop that receives its segments.
        Await.until("two records of one connection", () -> count("time-wait") == 2);
        assertEquals(0, count("resets.sent"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"soft:packet:", "soft:xdp:"})
    void portIsReboundWhileItsConnectionsLive(String provider) throws Exception {
        RdmaRawEventLoopGroup group = ours(provider, 2);
        RdmaRawServerSocketChannel first = TcpHost.listen(group, group, address(pair.ours().ipv4(), 0), echo);
        int port = first.localAddress().getPort();
        List<Socket> old = List.of(connect(port), connect(port), connect(port));
        for (Socket socket : old) {
            exchange(socket, "before");
        }
        first.close().sync();
        RdmaRawServerSocketChannel second = TcpHost.listen(group, group, address(pair.ours().ipv4(), port), echo);
        exchange(connect(port), "to the second");
        for (Socket socket : old) {
            exchange(socket, "still there");
        }
        assertEquals(0, count("resets.sent"));
        // A late reply makes the client's kernel retransmit.
        assertTrue(count("duplicate") <= retransmittedByClients(), "segments were received twice");
        second.close().sync();
    }

    private long retransmittedByClients() {
        List<String[]> lines = pair.peer().namespace().run("cat", "/proc/net/snmp").output().lines()
                .filter(line -> line.startsWith("Tcp:")).map(line -> line.split(" ")).toList();
        return Long.parseLong(lines.get(1)[Arrays.asList(lines.get(0)).indexOf("RetransSegs")]);
    }

    /**
     * A server that follows another on the same port is bound once its own loop is ready. Another loop that is
     * still busy has not been notified yet. It must not refuse connections that arrive in the meantime.
     */
    @ParameterizedTest
    @ValueSource(strings = {"soft:packet:", "soft:xdp:"})
    void reboundServerAcceptsConnectionsOfABusyLoop(String provider) throws Exception {
        RdmaRawEventLoopGroup group = ours(provider, 2);
        RdmaRawServerSocketChannel first = TcpHost.listen(group, group, address(pair.ours().ipv4(), 0), echo);
        EventLoop loop = first.eventLoop();
        int port = first.localAddress().getPort();
        Socket onOther = connect(port);
        Channel other = echo.channels.take();
        while (other.eventLoop() == loop) {
            onOther = connect(port);
            other = echo.channels.take();
        }
        Busy busy = new Busy(onOther);
        other.pipeline().addFirst(busy);
        first.close().sync();
        Channel second = new ServerBootstrap().group(loop, group).channel(RdmaRawServerSocketChannel.class)
                .option(RdmaRawChannelOption.ACCEPT_GROUP, group).childHandler(echo)
                .handler(new ChannelInboundHandlerAdapter() {
                    // By now, all loops have been requested to register the server.
                    @Override
                    public void channelRegistered(ChannelHandlerContext ctx) throws Exception {
                        busy.begin();
                    }
                }).bind(address(pair.ours().ipv4(), port)).sync().channel();
        List<SocketChannel> connecting = new ArrayList<>();
        try {
            for (int i = 0; i < CONNECTIONS; i++) {
                connecting.add(pair.peer().namespace().call(SocketChannel::open));
                connecting.getLast().configureBlocking(false);
                connecting.getLast().connect(address(pair.ours().ipv4(), port));
            }
            busy.end();
            for (SocketChannel socket : connecting) {
                socket.configureBlocking(true);
                assertTrue(socket.finishConnect());
                exchange(socket.socket(), "to the second");
            }
        } finally {
            for (SocketChannel socket : connecting) {
                socket.close();
            }
        }
        assertEquals(0, count("resets.sent"));
        second.close().sync();
    }

    /** Blocks the loop of a connection. */
    private static final class Busy extends ChannelInboundHandlerAdapter {
        private final Socket peer;
        private final CountDownLatch begun = new CountDownLatch(1);
        private final CountDownLatch ended = new CountDownLatch(1);

        Busy(Socket peer) {
            this.peer = peer;
        }

        void begin() throws Exception {
            peer.getOutputStream().write('.');
            await(begun);
        }

        void end() {
            ended.countDown();
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) throws Exception {
            begun.countDown();
            await(ended);
            ctx.fireChannelRead(msg);
        }

        private static void await(CountDownLatch latch) throws InterruptedException {
            assertTrue(latch.await(Await.PATIENCE_MILLIS, TimeUnit.MILLISECONDS));
        }
    }

    /** The kernel's socket is closed with the channel, even if a thread was blocked in accept. */
    @ParameterizedTest
    @ValueSource(strings = {"soft:packet:", "soft:xdp:"})
    void portIsFreeAfterServerHasClosed(String provider) throws Exception {
        RdmaRawEventLoopGroup group = ours(provider, 1);
        RdmaRawServerSocketChannel server = TcpHost.listen(group, group, address(pair.ours().ipv4(), 0), echo);
        int port = server.localAddress().getPort();
        for (int i = 0; i < 200; i++) {
            server.close().sync();
            server = TcpHost.listen(group, group, address(pair.ours().ipv4(), port), echo);
        }
        exchange(connect(port), "to the last");
    }

    @ParameterizedTest
    @ValueSource(strings = {"soft:packet:", "soft:xdp:"})
    void clientsReceiveSegmentsOnTheirOwnLoop(String provider) throws Exception {
        RdmaRawEventLoopGroup group = ours(provider, 3);
        List<RdmaRawSocketChannel> clients = new ArrayList<>();
        try (ServerSocket server = TcpHost.echoServer(pair.peer().namespace(), pair.peer().ipv4())) {
            for (int i = 0; i < 9; i++) {
                TcpHost.Client client = new TcpHost.Client();
                RdmaRawSocketChannel channel = TcpHost.connect(group,
                        address(pair.peer().ipv4(), server.getLocalPort()), client);
                channel.writeAndFlush(Unpooled.copiedBuffer("hello",
                        CharsetUtil.US_ASCII)).sync();
                client.await("hello");
                clients.add(channel);
                channel.close().sync();
            }
        }
        assertEquals(3, new HashSet<>(clients.stream().map(Channel::eventLoop).toList()).size());
        assertEquals(0, count("forwarded.segments"));
        assertEquals(0, count("unroutable"));
    }
}
