package io.rdmaraw.testsuite.tcp;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
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

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import static io.rdmaraw.testsuite.tcp.TcpHost.address;
import static io.rdmaraw.testsuite.tcp.TcpHost.exchange;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Tests TCP on a host with two interfaces. The routing table depends on the source address ({@code ip rule}) or
 * the mark, and both links have the same link-local addresses. The kernel is the peer on both links.
 */
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class TcpRoutingOverVethTest {
    private static final String FAR = "198.51.100.7";
    private static final String TEXT = "0123456789".repeat(2000);

    private NetworkNamespace host;
    private VethPair first;
    private VethPair second;
    private final TcpHost.Echo echo = new TcpHost.Echo();
    private final List<RdmaRawEventLoopGroup> groups = new ArrayList<>();

    @BeforeEach
    void open(TestNetwork network) {
        host = network.namespace();
        first = network.vethPair(host, network.namespace());
        second = network.vethPair(host, network.namespace());
    }

    @AfterEach
    void close() {
        groups.forEach(group -> group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly());
    }

    private static String device(VethPair pair) {
        return "soft:xdp:" + pair.ours().name();
    }

    private RdmaRawEventLoopGroup on(VethPair pair) {
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1, host.threadFactory(),
                RdmaRawIoHandlerConfig.builder().device(device(pair)).build());
        groups.add(group);
        return group;
    }

    private static void echoed(RdmaRawSocketChannel channel, TcpHost.Client client) throws InterruptedException {
        channel.writeAndFlush(Unpooled.copiedBuffer(TEXT, CharsetUtil.US_ASCII)).sync();
        client.await(TEXT);
        channel.close().sync();
    }

    /** Binds and connects in the namespace, because the JDK creates the kernel's socket at its first use. */
    private static Socket socket(NetworkNamespace namespace, InetSocketAddress localOrNull, InetSocketAddress remote)
            throws Exception {
        return namespace.call(() -> {
            Socket socket = new Socket();
            socket.setSoTimeout(Await.PATIENCE_MILLIS);
            socket.bind(localOrNull);
            socket.connect(remote, Await.PATIENCE_MILLIS);
            return socket;
        });
    }

    /**
     * The default route uses the first interface. Packets from the second interface's address use the second one.
     */
    private void routeBySource() {
        second.peer().namespace().run("ip", "addr", "add", FAR + "/32", "dev", "lo");
        host.run("ip", "route", "add", "default", "via", first.peer().ipv4());
        host.run("ip", "route", "add", "default", "via", second.peer().ipv4(), "table", "100");
        host.run("ip", "rule", "add", "from", second.ours().ipv4(), "lookup", "100");
    }

    @Test
    void serversUseTheTableOfTheirAddress() throws Exception {
        routeBySource();
        RdmaRawEventLoopGroup group = on(second);
        RdmaRawServerSocketChannel server = TcpHost.listen(group, group, address("0.0.0.0", 0), echo);
        try (Socket socket = socket(second.peer().namespace(), address(FAR, 0),
                address(second.ours().ipv4(), server.localAddress().getPort()))) {
            exchange(socket, TEXT);
        }
        assertEquals(1, TcpHost.tcp(device(second), "accepted.connections"));
        assertEquals(0, TcpHost.tcp(device(second), "unroutable"));
    }

    @Test
    void clientsUseTheTableOfTheirAddress() throws Exception {
        routeBySource();
        RdmaRawEventLoopGroup group = on(second);
        try (ServerSocket server = TcpHost.echoServer(second.peer().namespace(), FAR)) {
            TcpHost.Client client = new TcpHost.Client();
            echoed((RdmaRawSocketChannel) new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                    .handler(client).connect(address(FAR, server.getLocalPort()), address(second.ours().ipv4(), 0))
                    .sync().channel(), client);
            assertEquals(1, TcpHost.tcp(device(second), "opened.connections"));
            // Without a local address, the destination selects the table.
            host.run("ip", "rule", "add", "to", FAR, "lookup", "100");
            TcpHost.Client other = new TcpHost.Client();
            RdmaRawSocketChannel channel = TcpHost.connect(group, address(FAR, server.getLocalPort()), other);
            assertEquals(second.ours().ipv4(), channel.localAddress().getAddress().getHostAddress());
            echoed(channel, other);
        }
        assertEquals(2, TcpHost.tcp(device(second), "opened.connections"));
        assertEquals(0, TcpHost.tcp(device(second), "kernel.connections"));
    }

    /** Marked packets use the second interface; other packets to the far host have no route. */
    private void routeByMark() {
        second.peer().namespace().run("ip", "addr", "add", FAR + "/32", "dev", "lo");
        host.run("ip", "route", "add", FAR, "via", second.peer().ipv4(), "table", "100");
        host.run("ip", "rule", "add", "fwmark", "7", "lookup", "100");
    }

    /** The SYN-ACK is sent before there is a channel, and must use the same route. */
    @Test
    void serversUseTheTableOfTheirMark() throws Exception {
        routeByMark();
        RdmaRawEventLoopGroup group = on(second);
        RdmaRawServerSocketChannel server = (RdmaRawServerSocketChannel) new ServerBootstrap().group(group)
                .channel(RdmaRawServerSocketChannel.class).option(RdmaRawChannelOption.SO_MARK, 7)
                .childHandler(echo).bind(address(second.ours().ipv4(), 0)).sync().channel();
        try (Socket socket = socket(second.peer().namespace(), address(FAR, 0), server.localAddress())) {
            exchange(socket, TEXT);
        }
        assertEquals(1, TcpHost.tcp(device(second), "accepted.connections"));
        assertEquals(0, TcpHost.tcp(device(second), "unroutable"));
    }

    @Test
    void clientsUseTheTableOfTheirMark() throws Exception {
        routeByMark();
        RdmaRawEventLoopGroup group = on(second);
        try (ServerSocket server = TcpHost.echoServer(second.peer().namespace(), FAR)) {
            Bootstrap bootstrap = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class);
            InetSocketAddress far = address(FAR, server.getLocalPort());
            assertThrows(IOException.class, () -> bootstrap.clone().handler(new TcpHost.Client()).connect(far).sync());
            TcpHost.Client client = new TcpHost.Client();
            RdmaRawSocketChannel channel = (RdmaRawSocketChannel) bootstrap.clone().handler(client)
                    .option(RdmaRawChannelOption.SO_MARK, 7).connect(far).sync().channel();
            assertEquals(second.ours().ipv4(), channel.localAddress().getAddress().getHostAddress());
            assertEquals(7, channel.config().getOption(RdmaRawChannelOption.SO_MARK));
            echoed(channel, client);
        }
        assertEquals(1, TcpHost.tcp(device(second), "opened.connections"));
        assertEquals(0, TcpHost.tcp(device(second), "kernel.connections"));
    }

    /** Connections that the kernel accepts for the server use the same table. */
    @Test
    void kernelConnectionsOfServerCarryItsMark() throws Exception {
        host.run("ip", "route", "add", FAR, "via", first.peer().ipv4(), "table", "100");
        host.run("ip", "rule", "add", "fwmark", "7", "lookup", "100");
        first.peer().namespace().run("ip", "addr", "add", FAR + "/32", "dev", "lo");
        RdmaRawEventLoopGroup group = on(second);
        RdmaRawServerSocketChannel server = (RdmaRawServerSocketChannel) new ServerBootstrap().group(group)
                .channel(RdmaRawServerSocketChannel.class).option(RdmaRawChannelOption.SO_MARK, 7)
                .childHandler(echo).bind(address("0.0.0.0", 0)).sync().channel();
        try (Socket socket = socket(first.peer().namespace(), address(FAR, 0),
                address(first.ours().ipv4(), server.localAddress().getPort()))) {
            exchange(socket, TEXT);
        }
        assertEquals(1, TcpHost.tcp(device(second), "kernel.connections"));
    }

    /** The last ACK is lost and the peer retransmits its FIN. The reply must use the marked route too. */
    @Test
    void timeWaitRepliesCarryTheMarkOfTheConnection() throws Exception {
        routeByMark();
        RdmaRawEventLoopGroup group = on(second);
        NetworkNamespace peer = second.peer().namespace();
        Bootstrap marked = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                .handler(new TcpHost.Client()).option(RdmaRawChannelOption.SO_MARK, 7);
        try (ServerSocket server = peer.call(() -> new ServerSocket(0, 1, InetAddress.ofLiteral(FAR)))) {
            InetSocketAddress far = address(FAR, server.getLocalPort());
            Channel channel = marked.connect(far).sync().channel();
            try (Socket accepted = server.accept()) {
                channel.close().sync();
                assertEquals(-1, accepted.getInputStream().read());
                // The last ACK has no route now. Another attempt fails without a route before it sends anything.
                host.run("ip", "rule", "del", "fwmark", "7", "lookup", "100");
                Await.until("the rule's end", () -> isRefused(marked, new InetSocketAddress(far.getAddress(), 9)));
                assertEquals(0, TcpHost.tcp(device(second), "unroutable"));
            }
            Await.until("the peer says its FIN again", () -> TcpHost.tcp(device(second), "unroutable") > 2);
            assertFalse(lastAcks(peer).isBlank(), "it has heard nothing");
            host.run("ip", "rule", "add", "fwmark", "7", "lookup", "100");
            Await.until("the peer's end", () -> lastAcks(peer).isBlank());
        }
    }

    /**
     * Returns whether a connect fails for lack of a route. Port 9 of the far host is closed: with a route, it
     * answers with a reset.
     */
    private static boolean isRefused(Bootstrap bootstrap, InetSocketAddress far) {
        ChannelFuture attempt = bootstrap.clone().handler(new TcpHost.Client()).connect(far).awaitUninterruptibly();
        return attempt.cause() instanceof NoRouteToHostException;
    }

    private static String lastAcks(NetworkNamespace namespace) {
        return namespace.run("ss", "-Htn", "state", "last-ack").output();
    }

    /** A changed mark sends the connection's packets along another route. */
    @Test
    void changedMarkChangesTheRoute() throws Exception {
        routeByMark();
        host.run("ip", "route", "add", "default", "via", second.peer().ipv4());
        host.run("ip", "rule", "add", "fwmark", "8", "blackhole");
        RdmaRawEventLoopGroup group = on(second);
        try (ServerSocket server = TcpHost.echoServer(second.peer().namespace(), FAR)) {
            TcpHost.Client client = new TcpHost.Client();
            RdmaRawSocketChannel channel = TcpHost.connect(group, address(FAR, server.getLocalPort()), client);
            channel.config().setOption(RdmaRawChannelOption.SO_MARK, 8);
            channel.writeAndFlush(Unpooled.copiedBuffer(TEXT, CharsetUtil.US_ASCII)).sync();
            Await.until("segments without a way", () -> TcpHost.tcp(device(second), "unroutable") > 0);
            channel.config().setOption(RdmaRawChannelOption.SO_MARK, 7);
            client.await(TEXT);
            channel.close().sync();
        }
    }

    /** Sockets of the JDK cannot be marked. Without its mark, a connection might use a forbidden route. */
    @Test
    void markedConnectionThroughTheKernelIsRefused() throws Exception {
        RdmaRawEventLoopGroup group = on(first);
        try (ServerSocket server = TcpHost.echoServer(second.peer().namespace(), "0.0.0.0")) {
            Bootstrap bootstrap = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                    .handler(new TcpHost.Client()).option(RdmaRawChannelOption.SO_MARK, 7);
            IOException refused = assertThrows(IOException.class, () -> bootstrap.connect(
                    address(second.peer().ipv4(), server.getLocalPort())).sync());
            assertTrue(refused.getMessage().contains("SO_MARK is 7"), refused::getMessage);
        }
        assertEquals(0, TcpHost.tcp(device(first), "kernel.connections"));
    }

    /** Uses the link's index, because the JDK resolves link names only in the namespace of the calling thread. */
    private static InetAddress linkLocal(String address, int linkIndex) throws Exception {
        return Inet6Address.getByAddress(null, InetAddress.ofLiteral(address).getAddress(), linkIndex);
    }

    /** Both links have the same addresses, and the kernel's routes to them have equal metrics. */
    @Test
    void linkLocalPeersBelongToTheDevicesLink() throws Exception {
        for (VethPair pair : List.of(first, second)) {
            host.run("ip", "-6", "addr", "add", "fe80::1/64", "dev", pair.ours().name(), "nodad");
            pair.peer().namespace().run("ip", "-6", "addr", "add", "fe80::2/64", "dev", pair.peer().name(), "nodad");
        }
        for (VethPair pair : List.of(first, second, first)) {
            RdmaRawEventLoopGroup group = on(pair);
            long accepted = TcpHost.tcp(device(pair), "accepted.connections");
            RdmaRawServerSocketChannel server = TcpHost.listen(group, group, address("::", 0), echo);
            InetSocketAddress target = new InetSocketAddress(linkLocal("fe80::1", pair.peer().index()),
                    server.localAddress().getPort());
            try (Socket socket = socket(pair.peer().namespace(), null, target)) {
                exchange(socket, TEXT);
            }
            assertEquals(accepted + 1, TcpHost.tcp(device(pair), "accepted.connections"));
            server.close().sync();
            for (int scope : new int[] {0, pair.ours().index()}) {
                connectTo(group, pair, scope);
            }
            assertEquals(0, TcpHost.tcp(device(pair), "kernel.connections"));
            assertEquals(0, TcpHost.tcp(device(pair), "unroutable"));
        }
        // A link-local address of another link is reached through the kernel, not through the device.
        connectTo(groups.getFirst(), second, second.ours().index());
        assertEquals(1, TcpHost.tcp(device(first), "kernel.connections"));
    }

    private void connectTo(RdmaRawEventLoopGroup group, VethPair pair, int scope) throws Exception {
        try (ServerSocket server = TcpHost.echoServer(pair.peer().namespace(), "::")) {
            TcpHost.Client client = new TcpHost.Client();
            echoed(TcpHost.connect(group, new InetSocketAddress(linkLocal("fe80::2", scope), server.getLocalPort()),
                    client), client);
        }
    }
}
