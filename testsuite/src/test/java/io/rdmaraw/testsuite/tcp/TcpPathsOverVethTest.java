package io.rdmaraw.testsuite.tcp;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.util.CharsetUtil;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.KnownRoutes;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.TimeUnit;

import static io.rdmaraw.testsuite.tcp.TcpHost.address;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Tests TCP connections with ICMP errors and route attributes, and on a userspace host. The kernel is router and
 * peer.
 */
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class TcpPathsOverVethTest {
    private static final String LONG = "0123456789".repeat(20_000);
    private static final String OWN_GATEWAY = "203.0.113.1";
    private static final String OWN_ADDRESS = "203.0.113.77";

    private TestNetwork network;
    private NetworkNamespace host;
    private NetworkNamespace router;
    private VethPair pair;
    private RdmaRawEventLoopGroup group;

    @BeforeEach
    void open(TestNetwork made) {
        network = made;
        host = network.namespace();
        router = network.namespace();
        pair = network.vethPair(host, router);
        // Link-local addresses, which are the sources of neighbour solicitations of the host and the router.
        host.run("ip", "-6", "addr", "add", "fe80::1/64", "dev", pair.ours().name(), "nodad");
        router.run("ip", "-6", "addr", "add", "fe80::2/64", "dev", pair.peer().name(), "nodad");
        router.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1");
        group = new RdmaRawEventLoopGroup(2, host.threadFactory(), config().build());
    }

    private RdmaRawIoHandlerConfig.Builder config() {
        return RdmaRawIoHandlerConfig.builder().device("soft:xdp:" + pair.ours().name());
    }

    @AfterEach
    void close() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** Creates a host behind the router with a link MTU of 1300 bytes. */
    private VethPair farHost() throws Exception {
        NetworkNamespace far = network.namespace();
        VethPair second = network.vethPair(router, far);
        second.ours().setMtu(1300);
        second.peer().setMtu(1300);
        router.run("ip", "-6", "addr", "add", "fe80::2/64", "dev", second.ours().name(), "nodad");
        far.run("ip", "-6", "addr", "add", "fe80::3/64", "dev", second.peer().name(), "nodad");
        host.run("ip", "route", "add", second.peer().ipv4(), "via", pair.peer().ipv4());
        host.run("ip", "-6", "route", "add", second.peer().ipv6(), "via", pair.peer().ipv6());
        far.run("ip", "route", "add", pair.ours().ipv4(), "via", second.ours().ipv4());
        far.run("ip", "-6", "route", "add", pair.ours().ipv6(), "via", second.ours().ipv6());
        KnownRoutes.await(host, second.peer().ipv4());
        KnownRoutes.await(host, second.peer().ipv6());
        return second;
    }

    private static int echoThenMtu(EventLoop loop, ServerSocket server, String address) throws Exception {
        TcpHost.Client client = new TcpHost.Client();
        RdmaRawSocketChannel channel = TcpHost.connect(loop, address(address, server.getLocalPort()), client);
        channel.writeAndFlush(Unpooled.copiedBuffer(LONG, CharsetUtil.US_ASCII)).sync();
        client.await(LONG);
        int mtuBytes = channel.tcpInfo().sync().getNow().pathMtuBytes();
        channel.close().sync();
        return mtuBytes;
    }

    @Test
    void pathMtuDiscoveryLimitsSegments() throws Exception {
        VethPair second = farHost();
        // The peer announces a large MSS, so that only path MTU discovery finds the limit.
        second.peer().namespace().run("ip", "route", "replace", pair.ours().ipv4(), "via", second.ours().ipv4(),
                "advmss", "1460");
        second.peer().namespace().run("ip", "-6", "route", "replace", pair.ours().ipv6(), "via",
                second.ours().ipv6(), "advmss", "1440");
        for (String address : new String[] {second.peer().ipv4(), second.peer().ipv6()}) {
            try (ServerSocket server = TcpHost.echoServer(second.peer().namespace(), address)) {
                long before = TcpHost.tcp(device(), "path-mtu-reductions");
                EventLoop loop = group.next();
                assertEquals(1300, echoThenMtu(loop, server, address));
                assertEquals(before + 1, TcpHost.tcp(device(), "path-mtu-reductions"));
                assertEquals(1300, echoThenMtu(loop, server, address));
                assertEquals(before + 1, TcpHost.tcp(device(), "path-mtu-reductions"), "the loop knows by now");
            }
        }
    }

    private String device() {
        return "soft:xdp:" + pair.ours().name();
    }

    @Test
    void mtuOfTheRouteLimitsSegments() throws Exception {
        host.run("ip", "route", "add", pair.peer().ipv4() + "/32", "dev", pair.ours().name(), "mtu", "1200");
        KnownRoutes.await(host, pair.peer().ipv4(), path -> path.mtuBytes() == 1200);
        try (ServerSocket server = TcpHost.echoServer(router, pair.peer().ipv4())) {
            assertEquals(1200, echoThenMtu(group.next(), server, pair.peer().ipv4()));
        }
        assertEquals(0, TcpHost.tcp(device(), "path-mtu-reductions"));
    }

    /**
     * The peer has a permanent neighbour entry for the host. It sends its SYN without an ARP request, so the host does
     * not know the peer's MAC address. The RST goes to the source MAC address of the SYN.
     */
    @Test
    void closedPortOfAnOwnHostResetsTheFirstSegmentOfAPeer() throws Exception {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        router.run("ip", "addr", "add", OWN_GATEWAY + "/24", "dev", pair.peer().name());
        router.run("ip", "neigh", "replace", OWN_ADDRESS, "lladdr", "02:00:00:0a:00:05", "dev", pair.peer().name());
        group = new RdmaRawEventLoopGroup(1, host.threadFactory(), config()
                .userspaceAddress("02:00:00:0a:00:05", OWN_ADDRESS + "/24", null)
                .detectDuplicateAddresses(false).build());
        RdmaRawServerSocketChannel server = TcpHost.listen(group, group, address("0.0.0.0", 0), new TcpHost.Echo());
        assertThrows(ConnectException.class,
                () -> TcpHost.socket(router, OWN_ADDRESS, server.localAddress().getPort() + 1));
        assertEquals(0, TcpHost.tcp(device(), "unresolved"));
        assertEquals(1, TcpHost.tcp(device(), "resets.sent"));
    }

    /** As when a bond has lost its first link. The peer learns the address by a gratuitous ARP. */
    @Test
    void connectionsOutliveAChangeOfTheMacAddress() throws Exception {
        String changed = "02:00:00:0a:00:77";
        try (ServerSocket server = TcpHost.echoServer(router, pair.peer().ipv4())) {
            TcpHost.Client client = new TcpHost.Client();
            RdmaRawSocketChannel channel = TcpHost.connect(group, address(pair.peer().ipv4(), server.getLocalPort()),
                    client);
            exchangeLong(channel, client);
            host.run("ip", "link", "set", pair.ours().name(), "address", changed);
            router.run("ip", "neigh", "replace", pair.ours().ipv4(), "lladdr", changed, "dev", pair.peer().name());
            // The kernel passes segments on until the loop has been notified of the new address.
            Await.until("all segments to come by the device", () -> {
                long byKernel = TcpHost.tcp(device(), "kernel.segments");
                exchangeLong(channel, client);
                return TcpHost.tcp(device(), "kernel.segments") == byKernel;
            });
            channel.close().sync();
        }
    }

    private static void exchangeLong(RdmaRawSocketChannel channel, TcpHost.Client client) {
        channel.writeAndFlush(Unpooled.copiedBuffer(LONG, CharsetUtil.US_ASCII)).syncUninterruptibly();
        try {
            client.await(LONG);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"unreachable", "prohibit"})
    void icmpUnreachableFailsConnectImmediately(String kind) throws Exception {
        router.run("ip", "route", "add", kind, "198.51.100.0/24");
        host.run("ip", "route", "add", "198.51.100.0/24", "via", pair.peer().ipv4());
        KnownRoutes.await(host, "198.51.100.7");
        Throwable cause = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                .handler(new TcpHost.Client()).connect(address("198.51.100.7", 80)).awaitUninterruptibly().cause();
        assertInstanceOf(NoRouteToHostException.class, cause);
        assertEquals(0, TcpHost.tcp(device(), "unmatched-icmp"));
    }

    @Test
    void userspaceHostServesAndConnects() throws Exception {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        router.run("ip", "addr", "add", OWN_GATEWAY + "/24", "dev", pair.peer().name());
        group = new RdmaRawEventLoopGroup(2, host.threadFactory(), config()
                .userspaceAddress("02:00:00:0a:00:05", OWN_ADDRESS + "/24", OWN_GATEWAY)
                .detectDuplicateAddresses(false).build());
        TcpHost.Echo echo = new TcpHost.Echo();
        RdmaRawServerSocketChannel server = TcpHost.listen(group, group, address("0.0.0.0", 0), echo);
        for (int i = 0; i < 8; i++) {
            try (Socket socket = TcpHost.socket(router, OWN_ADDRESS, server.localAddress().getPort())) {
                TcpHost.exchange(socket, LONG);
            }
        }
        assertEquals(8, echo.channels.size());
        try (ServerSocket peer = TcpHost.echoServer(router, OWN_GATEWAY)) {
            TcpHost.Client client = new TcpHost.Client();
            RdmaRawSocketChannel channel = TcpHost.connect(group, address(OWN_GATEWAY, peer.getLocalPort()), client);
            assertEquals(OWN_ADDRESS, channel.localAddress().getAddress().getHostAddress());
            channel.writeAndFlush(Unpooled.copiedBuffer(LONG, CharsetUtil.US_ASCII)).sync();
            client.await(LONG);
            channel.close().sync();
        }
        Throwable refused = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                .handler(new TcpHost.Client()).connect(address(OWN_GATEWAY, 7)).await().cause();
        assertInstanceOf(ConnectException.class, refused);
        assertTrue(refused.getMessage().startsWith("Connection refused"), refused.toString());
        ConnectException refusedByUs = assertThrows(ConnectException.class,
                () -> TcpHost.socket(router, OWN_ADDRESS, server.localAddress().getPort() + 1));
        assertTrue(refusedByUs.getMessage().startsWith("Connection refused"), refusedByUs.toString());
        assertEquals(0, TcpHost.tcp(device(), "forwarded.segments"));
    }
}
