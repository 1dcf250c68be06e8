package io.rdmaraw.testsuite.tcp;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ConnectTimeoutException;
import io.netty.util.CharsetUtil;
import io.rdmaraw.channel.RdmaRawChannelOption;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.channel.RdmaRawTcpSettings;
import io.rdmaraw.faults.SoftverbsFaults;
import io.rdmaraw.metrics.RdmaRawTcpInfo;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

import static io.rdmaraw.testsuite.tcp.TcpHost.address;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Tests the effect of channel options on the wire, with kernel sockets as peers. */
@Timeout(120)
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class TcpOptionsOverVethTest {
    private final TcpHost.Client client = new TcpHost.Client();
    private VethPair pair;
    private RdmaRawEventLoopGroup group;

    @BeforeEach
    void open(TestNetwork network) {
        pair = network.withoutCapture().vethPair(network.namespace(), network.namespace());
        pair.ours().namespace().run("ip", "route", "add", "198.51.100.0/24", "via", pair.peer().ipv4());
        // A router would report an unreachable network. New namespaces inherit this setting from the host.
        pair.peer().namespace().run("sysctl", "-qw", "net.ipv4.ip_forward=0");
        group = new RdmaRawEventLoopGroup(1, pair.ours().namespace().threadFactory(),
                RdmaRawIoHandlerConfig.builder().device(device()).build());
    }

    @AfterEach
    void close() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private String device() {
        return "soft:xdp:" + pair.ours().name();
    }

    private Bootstrap client() {
        return new Bootstrap().group(group).channel(RdmaRawSocketChannel.class).handler(client);
    }

    private ServerSocket listen() throws Exception {
        return pair.peer().namespace().call(() -> new ServerSocket(0, 50, InetAddress.ofLiteral(pair.peer().ipv4())));
    }

    private static RdmaRawSocketChannel connect(Bootstrap client, ServerSocket server) throws InterruptedException {
        return (RdmaRawSocketChannel) client
                .connect(new InetSocketAddress(server.getInetAddress(), server.getLocalPort())).sync().channel();
    }

    private static RdmaRawTcpInfo info(RdmaRawSocketChannel channel) {
        return channel.tcpInfo().syncUninterruptibly().getNow();
    }

    /** Removes the peer's address, so that its kernel answers nothing from now on. */
    private void peerVanishes() {
        pair.peer().namespace().run("ip", "addr", "flush", "dev", pair.peer().name());
    }

    private void assertTimedOut(RdmaRawSocketChannel channel) throws InterruptedException {
        Throwable cause = client.errors.poll(Await.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
        assertInstanceOf(SocketException.class, cause);
        assertEquals("Connection timed out", cause.getMessage());
        assertTrue(channel.closeFuture().await(Await.PATIENCE_MILLIS));
        assertEquals(1, TcpHost.tcp(device(), "connection-timeouts"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void keepaliveDetectsDeadPeer(boolean setBeforeConnecting) throws Exception {
        try (ServerSocket server = listen()) {
            Bootstrap bootstrap = client().option(RdmaRawChannelOption.TCP_KEEPIDLE, 1)
                    .option(RdmaRawChannelOption.TCP_KEEPINTVL, 1).option(RdmaRawChannelOption.TCP_KEEPCNT, 2);
            RdmaRawSocketChannel channel = connect(bootstrap.option(ChannelOption.SO_KEEPALIVE, setBeforeConnecting),
                    server);
            if (!setBeforeConnecting) {
                channel.config().setKeepAlive(true);
            }
            int before = info(channel).segmentsIn();
            Await.until("a peer that lives to answer more probes than may be lost",
                    () -> info(channel).segmentsIn() >= before + 3);
            assertTrue(channel.isActive());
            peerVanishes();
            int sentBefore = info(channel).segmentsOut();
            assertTimedOut(channel);
            int sent = info(channel).segmentsOut() - sentBefore;
            assertTrue(sent <= 3, sent + " segments for two probes and a reset");
        }
    }

    @Test
    void keepaliveAppliesToAcceptedChannels() throws Exception {
        RdmaRawServerSocketChannel server = (RdmaRawServerSocketChannel) new ServerBootstrap().group(group)
                .channel(RdmaRawServerSocketChannel.class).childHandler(client)
                .childOption(ChannelOption.SO_KEEPALIVE, true).childOption(RdmaRawChannelOption.TCP_KEEPIDLE, 1)
                .childOption(RdmaRawChannelOption.TCP_KEEPINTVL, 1).childOption(RdmaRawChannelOption.TCP_KEEPCNT, 1)
                .bind(address(pair.ours().ipv4(), 0)).sync().channel();
        try (Socket socket = TcpHost.socket(pair.peer().namespace(), pair.ours().ipv4(),
                server.localAddress().getPort())) {
            assertTrue(socket.isConnected());
            Await.until("the connection", () -> TcpHost.tcp(device(), "connections") == 1);
            peerVanishes();
            assertInstanceOf(SocketException.class, client.errors.poll(Await.PATIENCE_MILLIS, TimeUnit.MILLISECONDS));
            Await.until("its end", () -> TcpHost.tcp(device(), "connections") == 0);
        }
    }

    /** Without the user timeout, data is retransmitted for a quarter of an hour. */
    @Test
    void userTimeoutClosesUnacknowledgedConnection() throws Exception {
        try (ServerSocket server = listen()) {
            RdmaRawSocketChannel channel = connect(client().option(RdmaRawChannelOption.TCP_USER_TIMEOUT, 700), server);
            peerVanishes();
            channel.writeAndFlush(Unpooled.copiedBuffer("anybody there?", CharsetUtil.US_ASCII)).sync();
            assertTimedOut(channel);
        }
    }

    @Test
    void connectTimesOutAndCanBeCancelled() throws Exception {
        InetSocketAddress nobody = address("198.51.100.7", 80);
        ChannelFuture timedOut = client().option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 200).connect(nobody).await();
        assertInstanceOf(ConnectTimeoutException.class, timedOut.cause());
        timedOut.channel().closeFuture().sync();
        Await.until("its end", () -> TcpHost.tcp(device(), "connections") == 0);

        ChannelFuture cancelled = client().handler(new TcpHost.Client()).connect(nobody);
        Await.until("the attempt to begin", () -> TcpHost.tcp(device(), "connections") == 1);
        assertTrue(cancelled.cancel(true));
        assertTrue(cancelled.channel().closeFuture().await(Await.PATIENCE_MILLIS));
        Await.until("its end", () -> TcpHost.tcp(device(), "connections") == 0);
        // The port is released after the connection has been removed.
        Await.until("no socket of the kernel", () -> pair.ours().namespace().run("ss", "-Htan").output().isBlank());
    }

    private boolean isFree(int port) {
        try (ServerSocket socket = pair.ours().namespace().call(() -> new ServerSocket(port))) {
            return socket.isBound();
        } catch (BindException e) {
            return false;
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    /** The kernel reserves the port from the start of the attempt to its end. */
    @Test
    void portOfFailedConnectIsReleased() throws Exception {
        try (ServerSocket server = listen()) {
            InetSocketAddress remote = new InetSocketAddress(server.getInetAddress(), server.getLocalPort());
            int port;
            try (ServerSocket free = pair.ours().namespace().call(() -> new ServerSocket(0))) {
                port = free.getLocalPort();
            }
            ChannelFuture timedOut = client().handler(new TcpHost.Client())
                    .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 5000)
                    .connect(address("198.51.100.7", 80), address(pair.ours().ipv4(), port));
            // Binding the port earlier would take it away from the attempt.
            Await.until("the attempt to begin", () -> timedOut.channel().localAddress() != null);
            timedOut.channel().eventLoop().submit(() -> { }).sync();
            assertFalse(isFree(port), "the attempt has its port");
            assertInstanceOf(ConnectTimeoutException.class, timedOut.await().cause());
            Await.until("the port of the attempt to be free", () -> isFree(port));

            SharedDevice device = SharedDevice.acquire(device());
            // This connection occupies the only flow rule.
            connect(client(), server);
            try (Socket other = server.accept()) {
                assertTrue(other.isConnected());
                SoftverbsFaults.of(device.context()).setFlowCapacity(1);
                Throwable refusal = client().handler(new TcpHost.Client())
                        .connect(remote, address(pair.ours().ipv4(), port)).await().cause();
                assertTrue(refusal.getMessage().contains("ENOMEM"), refusal.toString());
            } finally {
                device.release();
            }
            Await.until("the port without a rule to be free", () -> isFree(port));
        }
    }

    /** Without TIME-WAIT, the kernel would reset a peer that retransmits its FIN. */
    @Test
    void portOfConnectionInTimeWaitStaysReserved() throws Exception {
        try (ServerSocket server = listen()) {
            RdmaRawSocketChannel channel = connect(client(), server);
            int port = channel.localAddress().getPort();
            try (Socket socket = server.accept()) {
                channel.close().sync();
                assertEquals(-1, socket.getInputStream().read());
            }
            Await.until("its end", () -> TcpHost.tcp(device(), "connections") == 0);
            group.next().submit(() -> { }).sync();
            assertEquals(1, TcpHost.tcp(device(), "time-wait"));
            assertFalse(isFree(port));
        }
    }

    @Test
    void portIsReservedForTheConfiguredTimeWaitOnly() throws Exception {
        close();
        group = new RdmaRawEventLoopGroup(1, pair.ours().namespace().threadFactory(), RdmaRawIoHandlerConfig.builder()
                .device(device()).tcp(new RdmaRawTcpSettings().timeWait(100, TimeUnit.MILLISECONDS)).build());
        try (ServerSocket server = listen()) {
            RdmaRawSocketChannel channel = connect(client(), server);
            int port = channel.localAddress().getPort();
            try (Socket socket = server.accept()) {
                channel.close().sync();
                assertEquals(-1, socket.getInputStream().read());
            }
            Await.until("the port to be free", Duration.ofSeconds(30), () -> isFree(port));
        }
    }

    /** The option applies from the SYN on, and can be changed later. */
    @Test
    void segmentsCarryTheTrafficClass() throws Exception {
        try (ServerSocket server = listen()) {
            RdmaRawSocketChannel channel;
            try (PeerProcess dump = capture("tcp[tcpflags] & tcp-syn != 0 and ip[1] & 0xfc = 0x28")) {
                channel = connect(client().option(ChannelOption.IP_TOS, 0x28), server);
                dump.awaitOutput("1 packet captured", Await.PATIENCE);
            }
            try (PeerProcess dump = capture("tcp[tcpflags] & tcp-push != 0 and ip[1] & 0xfc = 0x48")) {
                channel.config().setTrafficClass(0x48);
                channel.writeAndFlush(Unpooled.copiedBuffer("urgent", CharsetUtil.US_ASCII)).sync();
                dump.awaitOutput("1 packet captured", Await.PATIENCE);
            }
        }
    }

    /**
     * The option applies from the SYN on, and can be changed later. With a TTL of 1, packets still reach the peer
     * on the link.
     */
    @Test
    void segmentsCarryTheTtl() throws Exception {
        try (ServerSocket server = listen()) {
            RdmaRawSocketChannel channel;
            try (PeerProcess dump = capture("tcp[tcpflags] & tcp-syn != 0 and ip[8] = 255")) {
                channel = connect(client().option(RdmaRawChannelOption.IP_TTL, 255), server);
                dump.awaitOutput("1 packet captured", Await.PATIENCE);
            }
            try (PeerProcess dump = capture("tcp[tcpflags] & tcp-push != 0 and ip[8] = 1")) {
                channel.config().setOption(RdmaRawChannelOption.IP_TTL, 1);
                channel.writeAndFlush(Unpooled.copiedBuffer("near", CharsetUtil.US_ASCII)).sync();
                dump.awaitOutput("1 packet captured", Await.PATIENCE);
            }
        }
    }

    @Test
    void synAnnouncesTheConfiguredMss() throws Exception {
        int timestampsBytes = 12;
        try (ServerSocket server = listen();
                PeerProcess dump = capture("tcp[tcpflags] & tcp-syn != 0 and tcp[20:4] = 0x0204044c")) {
            RdmaRawSocketChannel channel = connect(client().option(RdmaRawChannelOption.TCP_MAXSEG, 1100), server);
            dump.awaitOutput("1 packet captured", Await.PATIENCE);
            assertEquals(1100 - timestampsBytes, info(channel).segmentBytes());
        }
    }

    /** Starts a capture that ends with the first matching packet that arrives at the peer. */
    private PeerProcess capture(String filter) {
        PeerProcess dump = pair.peer().namespace().start("tcpdump", "-n", "-i", pair.peer().name(), "-Q", "in",
                "-c", "1", filter);
        dump.awaitOutput("listening on", Await.PATIENCE);
        return dump;
    }

    /** As on Linux, SYNs beyond the backlog are dropped, and the clients retransmit them until there is room. */
    @Test
    void connectionsBeyondTheBacklogAreServedLater() throws Exception {
        int backlog = 4;
        int clients = backlog + 3;
        BlockingQueue<Object> accepted = new LinkedBlockingQueue<>();
        RdmaRawServerSocketChannel server = (RdmaRawServerSocketChannel) new ServerBootstrap().group(group)
                .channel(RdmaRawServerSocketChannel.class).option(ChannelOption.SO_BACKLOG, backlog)
                .option(ChannelOption.AUTO_READ, false).handler(new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelRead(ChannelHandlerContext ctx, Object msg) {
                        accepted.add(msg);
                        ctx.fireChannelRead(msg);
                    }
                }).childHandler(new TcpHost.Echo()).bind(address(pair.ours().ipv4(), 0)).sync().channel();
        List<CompletableFuture<Void>> served = new ArrayList<>();
        for (int i = 0; i < clients; i++) {
            served.add(CompletableFuture.runAsync(() -> {
                try (Socket socket = TcpHost.socket(pair.peer().namespace(), pair.ours().ipv4(),
                        server.localAddress().getPort())) {
                    TcpHost.exchange(socket, "hello");
                } catch (Exception e) {
                    throw new CompletionException(e);
                }
            }, command -> Thread.ofPlatform().daemon().start(command)));
        }
        Await.until("the drops", () -> TcpHost.tcp(device(), "accept-queue-full") > 0);
        assertEquals(0, accepted.size());
        server.config().setAutoRead(true);
        for (CompletableFuture<Void> each : served) {
            each.get(60, TimeUnit.SECONDS);
        }
        assertEquals(clients, accepted.size());
    }

    @Test
    void receiveBufferLimitsUnreadData() throws Exception {
        int bufferBytes = 8192;
        try (ServerSocket server = listen()) {
            RdmaRawSocketChannel channel = connect(client().option(ChannelOption.SO_RCVBUF, bufferBytes)
                    .option(ChannelOption.AUTO_READ, false), server);
            try (Socket socket = server.accept()) {
                byte[] sent = "0123456789".repeat(10_000).getBytes(CharsetUtil.US_ASCII);
                Thread writer = Thread.ofVirtual().start(() -> {
                    try {
                        socket.getOutputStream().write(sent);
                    } catch (IOException e) {
                        client.errors.add(e);
                    }
                });
                // A window smaller than a segment is not offered (RFC 9293 section 3.8.6.2.2).
                Await.until("the window to close", () -> info(channel).receiveWindowBytes() < 1460);
                long received = info(channel).bytesReceived();
                assertTrue(received <= bufferBytes && received > bufferBytes / 2, received + " bytes");
                channel.config().setAutoRead(true);
                client.await(new String(sent, CharsetUtil.US_ASCII));
                writer.join();
            }
        }
    }

    @Test
    void sendBufferLimitsDataPassedToTcp() throws Exception {
        int bufferBytes = 20_000;
        try (ServerSocket server = listen()) {
            RdmaRawSocketChannel channel = connect(client().option(ChannelOption.SO_SNDBUF, bufferBytes), server);
            try (Socket socket = server.accept()) {
                byte[] block = new byte[1000];
                int blocks = 16_000;
                for (int i = 0; i < blocks; i++) {
                    channel.write(Unpooled.wrappedBuffer(block));
                }
                ChannelFuture last = channel.writeAndFlush(Unpooled.EMPTY_BUFFER);
                Await.until("the peer's window to be full", () -> {
                    RdmaRawTcpInfo info = info(channel);
                    assertTrue(info.unacknowledgedBytes() + info.unsentBytes() <= bufferBytes, info.toString());
                    return info.unsentBytes() > 0 && info.sendWindowBytes() < block.length;
                });
                assertTrue(!channel.isWritable() && !last.isDone());
                assertEquals(blocks * block.length, socket.getInputStream().readNBytes(blocks * block.length).length);
                assertTrue(last.await(Await.PATIENCE_MILLIS) && last.isSuccess());
            }
        }
    }

    @Test
    void tcpInfoReportsTheTransfer() throws Exception {
        String question = "0123456789".repeat(5000);
        String answer = "abcdefghij".repeat(3000);
        try (ServerSocket server = listen()) {
            RdmaRawSocketChannel channel = connect(client(), server);
            try (Socket socket = server.accept()) {
                channel.writeAndFlush(Unpooled.copiedBuffer(question, CharsetUtil.US_ASCII)).sync();
                assertEquals(question.length(), socket.getInputStream().readNBytes(question.length()).length);
                socket.getOutputStream().write(answer.getBytes(CharsetUtil.US_ASCII));
                client.await(answer);
                Await.until("the last acknowledgement", () -> info(channel).unacknowledgedBytes() == 0);
                RdmaRawTcpInfo info = info(channel);
                assertEquals("ESTABLISHED", info.state());
                assertEquals(question.length(), info.bytesAcked());
                assertEquals(answer.length(), info.bytesReceived());
                assertTrue(info.segmentsOut() >= question.length() / info.segmentBytes(), info.toString());
                assertTrue(info.segmentsIn() >= answer.length() / info.segmentBytes(), info.toString());
                assertTrue(info.minimumRttNanos() > 0 && info.smoothedRttNanos() >= info.minimumRttNanos(),
                        info.toString());
                assertNotNull(info.congestionControl());
                assertEquals(1500, info.pathMtuBytes());
            }
            channel.closeFuture().sync();
        }
    }
}
