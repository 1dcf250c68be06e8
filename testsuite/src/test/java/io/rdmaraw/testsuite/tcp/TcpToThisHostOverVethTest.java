package io.rdmaraw.testsuite.tcp;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.util.CharsetUtil;
import io.rdmaraw.channel.RdmaRawChannelOption;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;

import static io.rdmaraw.testsuite.tcp.TcpHost.address;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Tests connections to the host itself and through other links than the device's, which the kernel carries. */
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class TcpToThisHostOverVethTest {
    private static final String LONG = "0123456789".repeat(300_000);

    private TestNetwork network;
    private NetworkNamespace host;
    private VethPair pair;
    private RdmaRawEventLoopGroup group;

    @BeforeEach
    void open(TestNetwork made) {
        network = made;
        host = network.namespace();
        pair = network.vethPair(host, network.namespace());
        group = new RdmaRawEventLoopGroup(2, host.threadFactory(),
                RdmaRawIoHandlerConfig.builder().device(device()).build());
    }

    @AfterEach
    void close() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private String device() {
        return "soft:xdp:" + pair.ours().name();
    }

    private long kernelConnections() {
        return TcpHost.tcp(device(), "kernel.connections");
    }

    private RdmaRawSocketChannel connect(InetSocketAddress remote, TcpHost.Client client) throws InterruptedException {
        return TcpHost.connect(group, remote, client);
    }

    private static void exchange(RdmaRawSocketChannel channel, TcpHost.Client client, String text)
            throws InterruptedException {
        channel.writeAndFlush(Unpooled.copiedBuffer(text, CharsetUtil.US_ASCII)).sync();
        client.await(text);
    }

    private ServerSocket listen(String address) throws Exception {
        ServerSocket server = host.call(() -> new ServerSocket(0, 50, InetAddress.ofLiteral(address)));
        server.setSoTimeout(Await.PATIENCE_MILLIS);
        return server;
    }

    @Test
    void clientsReachKernelServersOfTheirHost() throws Exception {
        int opened = 0;
        for (String target : new String[] {"127.0.0.1", "::1", pair.ours().ipv4(), pair.ours().ipv6(), "0.0.0.0"}) {
            try (ServerSocket server = TcpHost.echoServer(host, "0.0.0.0".equals(target) ? "::" : target)) {
                TcpHost.Client client = new TcpHost.Client();
                RdmaRawSocketChannel channel = connect(address(target, server.getLocalPort()), client);
                assertTrue(channel.isActive());
                assertEquals(server.getLocalPort(), channel.remoteAddress().getPort());
                assertTrue(channel.localAddress().getPort() > 0);
                exchange(channel, client, LONG);
                assertEquals(++opened, kernelConnections());
                assertInstanceOf(UnsupportedOperationException.class, channel.tcpInfo().await().cause());
                channel.close().sync();
                assertFalse(channel.isActive());
            }
        }
    }

    @Test
    void clientsReachServersOfThisTransport() throws Exception {
        TcpHost.Echo echo = new TcpHost.Echo();
        RdmaRawServerSocketChannel server = TcpHost.listen(group, group, address("0.0.0.0", 0), echo);
        TcpHost.Client client = new TcpHost.Client();
        RdmaRawSocketChannel channel = connect(address(pair.ours().ipv4(), server.localAddress().getPort()), client);
        exchange(channel, client, LONG);
        channel.close().sync();
        assertEquals(2, kernelConnections(), "one at each end");
    }

    /** A raw socket bound to a link also receives local segments to the link's addresses. */
    @Test
    void localClientsLeaveNothingInTheStack() throws Exception {
        RdmaRawServerSocketChannel server = TcpHost.listen(group, group, address("::", 0), new TcpHost.Echo());
        for (int i = 0; i < 10; i++) {
            for (String target : List.of(pair.ours().ipv4(), pair.ours().ipv6())) {
                try (Socket socket = TcpHost.socket(host, target, server.localAddress().getPort())) {
                    TcpHost.exchange(socket, "hello");
                }
            }
        }
        // Segments from the link are processed after all segments from raw sockets.
        try (Socket socket = TcpHost.socket(pair.peer().namespace(), pair.ours().ipv4(),
                server.localAddress().getPort())) {
            TcpHost.exchange(socket, "hello");
        }
        assertEquals(20, kernelConnections());
        assertEquals(0, TcpHost.tcp(device(), "kernel.segments"));
        assertEquals(0, TcpHost.tcp(device(), "martian"));
    }

    @Test
    void clientsReachPeersThroughOtherLinks() throws Exception {
        VethPair second = network.vethPair(host, network.namespace());
        try (ServerSocket server = TcpHost.echoServer(second.peer().namespace(), second.peer().ipv4())) {
            TcpHost.Client client = new TcpHost.Client();
            exchange(connect(address(second.peer().ipv4(), server.getLocalPort()), client), client, LONG);
        }
        try (ServerSocket server = TcpHost.echoServer(pair.peer().namespace(), pair.peer().ipv4())) {
            TcpHost.Client client = new TcpHost.Client();
            exchange(connect(address(pair.peer().ipv4(), server.getLocalPort()), client), client, "by the device");
        }
        assertEquals(1, kernelConnections(), "only the link's peer is reached by the device");
    }

    /** The connections wait in the kernel and are accepted when the user reads. */
    @Test
    void localConnectionsWaitForReads() throws Exception {
        int backlog = 2;
        int clients = backlog + 3;
        RdmaRawServerSocketChannel server = (RdmaRawServerSocketChannel) new ServerBootstrap().group(group)
                .channel(RdmaRawServerSocketChannel.class).option(ChannelOption.SO_BACKLOG, backlog)
                .option(ChannelOption.AUTO_READ, false).childHandler(new TcpHost.Echo())
                .bind(address("0.0.0.0", 0)).sync().channel();
        CountDownLatch connected = new CountDownLatch(backlog);
        List<CompletableFuture<Integer>> served = new ArrayList<>();
        for (int i = 0; i < clients; i++) {
            served.add(CompletableFuture.supplyAsync(() -> {
                try (Socket socket = TcpHost.socket(host, "127.0.0.1", server.localAddress().getPort())) {
                    connected.countDown();
                    socket.getOutputStream().write('?');
                    return socket.getInputStream().read();
                } catch (Exception e) {
                    throw new CompletionException(e);
                }
            }, command -> Thread.ofPlatform().daemon().start(command)));
        }
        assertTrue(connected.await(60, TimeUnit.SECONDS));
        assertEquals(0, kernelConnections());
        server.config().setAutoRead(true);
        for (CompletableFuture<Integer> each : served) {
            assertEquals('?', each.get(60, TimeUnit.SECONDS));
        }
        assertEquals(clients, kernelConnections());
    }

    @Test
    void connectToClosedPortIsRefused() throws Exception {
        int port;
        try (ServerSocket server = listen("127.0.0.1")) {
            port = server.getLocalPort();
        }
        ChannelFuture connecting = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                .handler(new TcpHost.Client()).connect(address("127.0.0.1", port)).await();
        assertInstanceOf(ConnectException.class, connecting.cause());
        assertEquals("Connection refused: /127.0.0.1:" + port, connecting.cause().getMessage());
        connecting.channel().closeFuture().sync();
        assertEquals(0, kernelConnections());
    }

    @Test
    void connectUsesTheGivenLocalAddress() throws Exception {
        try (ServerSocket server = listen("127.0.0.1")) {
            Channel channel = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                    .handler(new TcpHost.Client())
                    .connect(address("127.0.0.1", server.getLocalPort()), address("127.0.0.9", 0)).sync().channel();
            try (Socket socket = server.accept()) {
                assertEquals("127.0.0.9", socket.getInetAddress().getHostAddress());
                assertEquals(channel.localAddress(), socket.getRemoteSocketAddress());
            }
        }
    }

    /** A cancelled message keeps its place among the flushed messages in Netty. */
    @Test
    void cancelledWritesAreSkippedAndNothingIsSentTwice() throws Exception {
        try (ServerSocket server = listen("127.0.0.1")) {
            RdmaRawSocketChannel channel = connect(address("127.0.0.1", server.getLocalPort()), new TcpHost.Client());
            try (Socket socket = server.accept()) {
                channel.eventLoop().submit(() -> {
                    assertTrue(channel.write(Unpooled.copiedBuffer("alone", CharsetUtil.US_ASCII)).cancel(false));
                    channel.flush();
                    assertTrue(channel.write(Unpooled.copiedBuffer("before", CharsetUtil.US_ASCII)).cancel(false));
                    channel.write(Unpooled.copiedBuffer("one ", CharsetUtil.US_ASCII));
                    channel.writeAndFlush(Unpooled.copiedBuffer("two ", CharsetUtil.US_ASCII));
                }).sync();
                channel.writeAndFlush(Unpooled.copiedBuffer("three", CharsetUtil.US_ASCII)).sync();
                channel.shutdownOutput().sync();
                assertEquals("one two three",
                        new String(socket.getInputStream().readAllBytes(), CharsetUtil.US_ASCII));
            }
        }
    }

    /**
     * The connection opens while its socket is still on the old loop and the channel has left it. Handlers are
     * notified on the channel's next loop.
     */
    @Test
    void connectionThatOpensDuringAMoveIsReportedOnTheNextLoop() throws Exception {
        BlockingQueue<Thread> active = new LinkedBlockingQueue<>();
        try (ServerSocket full = host.call(() -> new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1")))) {
            List<Socket> waiting = new ArrayList<>();
            // Linux queues one connection more than the backlog and drops the SYNs of others, which are
            // retransmitted after a second.
            for (int i = 0; i < 2; i++) {
                waiting.add(TcpHost.socket(host, "127.0.0.1", full.getLocalPort()));
            }
            ChannelFuture connecting = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                    .handler(new ChannelInboundHandlerAdapter() {
                        @Override
                        public void channelActive(ChannelHandlerContext ctx) {
                            active.add(Thread.currentThread());
                        }
                    }).connect(address("127.0.0.1", full.getLocalPort()));
            Channel channel = connecting.channel();
            Await.until("the channel to begin",
                    () -> channel.isRegistered() && connectingSockets(full) == 1);
            EventLoop before = channel.eventLoop();
            assertFalse(connecting.isDone());
            channel.deregister().sync();
            for (Socket each : waiting) {
                full.accept().close();
                each.close();
            }
            Await.until("the kernel's connection", () -> kernelConnections() == 1);
            before.submit(() -> { }).sync();
            assertFalse(connecting.isDone());
            assertTrue(active.isEmpty(), "handlers were told on a loop that the channel has left");
            EventLoop after = group.next();
            while (after == before) {
                after = group.next();
            }
            after.register(channel).sync();
            assertTrue(connecting.await(Await.PATIENCE_MILLIS) && connecting.isSuccess());
            assertEquals(after.submit(Thread::currentThread).sync().getNow(),
                    active.poll(Await.PATIENCE_MILLIS, TimeUnit.MILLISECONDS));
            channel.close().sync();
        }
    }

    private int connectingSockets(ServerSocket to) {
        return (int) host.run("ss", "-Htn", "state", "syn-sent", "dport = :" + to.getLocalPort()).output().lines()
                .count();
    }

    @Test
    void optionsAreSetOnTheKernelSocket() throws Exception {
        try (ServerSocket server = listen("127.0.0.1")) {
            Channel channel = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                    .handler(new TcpHost.Client()).option(ChannelOption.SO_KEEPALIVE, true)
                    .option(RdmaRawChannelOption.TCP_KEEPIDLE, 30_030)
                    .connect(address("127.0.0.1", server.getLocalPort())).sync().channel();
            String filter = "sport = :" + ((InetSocketAddress) channel.localAddress()).getPort();
            assertTrue(host.run("ss", "-tno", filter).output().contains("timer:(keepalive,500min"),
                    () -> host.run("ss", "-tno", filter).output());
            channel.config().setOption(ChannelOption.SO_KEEPALIVE, false);
            assertFalse(host.run("ss", "-tno", filter).output().contains("keepalive"));
            channel.close().sync();
        }
    }
}
