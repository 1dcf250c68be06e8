package io.rdmaraw.testsuite.tcp;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.DatagramPacket;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import static io.rdmaraw.testsuite.tcp.TcpHost.address;
import static io.rdmaraw.testsuite.tcp.TcpHost.exchange;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Tests a host with two uplinks to one router and the device on one of them. The kernel's echo server is the
 * reference.
 */
@WithTestNetwork
class SeveralLinksOverVethTest {
    private static final int CLIENTS = 16;
    /** Longer than the time until the first retransmission of a SYN. */
    private static final int UNANSWERED_MILLIS = 1_500;

    private NetworkNamespace host;
    private NetworkNamespace peer;
    private VethPair first;
    private VethPair second;
    private final TcpHost.Echo echo = new TcpHost.Echo();
    private final List<RdmaRawEventLoopGroup> groups = new ArrayList<>();

    @BeforeEach
    void open(TestNetwork network) {
        host = network.namespace();
        peer = network.namespace();
        first = network.vethPair(host, peer);
        second = network.vethPair(host, peer);
        filter(host, 0, first.ours().name(), second.ours().name());
        filter(peer, 0, first.peer().name(), second.peer().name());
        // Neighbour solicitations for addresses of another interface are sent from the link-local address.
        host.run("ip", "addr", "add", "fe80::1/64", "dev", first.ours().name(), "nodad");
        host.run("ip", "addr", "add", "fe80::2/64", "dev", second.ours().name(), "nodad");
        peer.run("ip", "addr", "add", "fe80::a/64", "dev", first.peer().name(), "nodad");
        peer.run("ip", "addr", "add", "fe80::b/64", "dev", second.peer().name(), "nodad");
        for (int i = 1; i <= CLIENTS; i++) {
            peer.run("ip", "addr", "add", client(i) + "/32", "dev", "lo");
            peer.run("ip", "addr", "add", client6(i) + "/128", "dev", "lo");
        }
    }

    @AfterEach
    void close() {
        groups.forEach(group -> group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly());
    }

    private static void filter(NetworkNamespace namespace, int mode, String... links) {
        for (String link : links) {
            namespace.run("sysctl", "-w", "net.ipv4.conf." + link + ".rp_filter=" + mode);
        }
        for (String all : List.of("all", "default")) {
            namespace.run("sysctl", "-w", "net.ipv4.conf." + all + ".rp_filter=0");
        }
    }

    private static String client(int number) {
        return "198.51.100." + number;
    }

    private static String client6(int number) {
        return "2001:db8:99::" + Integer.toHexString(number);
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

    private boolean connects(String local, String remote, int port, int patienceMillis) throws Exception {
        return peer.call(() -> {
            try (Socket socket = new Socket()) {
                socket.setSoTimeout(patienceMillis);
                socket.bind(address(local, 0));
                socket.connect(address(remote, port), patienceMillis);
                exchange(socket, "hello");
                return true;
            } catch (SocketTimeoutException e) {
                return false;
            }
        });
    }

    private void assertAllConnect(int port) throws Exception {
        for (int i = 1; i <= CLIENTS; i++) {
            assertTrue(connects(client(i), second.ours().ipv4(), port, Await.PATIENCE_MILLIS), client(i));
            assertTrue(connects(client6(i), second.ours().ipv6(), port, Await.PATIENCE_MILLIS), client6(i));
        }
    }

    private void route(String... route) {
        for (String version : List.of("-4", "-6")) {
            List<String> command = new ArrayList<>(List.of("ip", version, "route", "add"));
            for (String word : route) {
                command.add(switch (word) {
                    case "FIRST" -> version.equals("-4") ? first.peer().ipv4() : first.peer().ipv6();
                    case "SECOND" -> version.equals("-4") ? second.peer().ipv4() : second.peer().ipv6();
                    default -> word;
                });
            }
            host.run(command.toArray(String[]::new));
        }
    }

    private void routeByBoth() {
        route("default", "nexthop", "via", "FIRST", "dev", first.ours().name(), "nexthop", "via", "SECOND", "dev",
                second.ours().name());
    }

    private int listen(RdmaRawEventLoopGroup group) throws InterruptedException {
        RdmaRawServerSocketChannel server = TcpHost.listen(group, group, address("::", 0), echo);
        return server.localAddress().getPort();
    }

    private void assertServes() throws Exception {
        try (ServerSocket kernel = TcpHost.echoServer(host, "::")) {
            assertAllConnect(kernel.getLocalPort());
        }
        RdmaRawEventLoopGroup group = on(second);
        assertAllConnect(listen(group));
        assertEquals(0, TcpHost.tcp(device(second), "unroutable"));
        assertEquals(0, TcpHost.tcp(device(second), "other-link"));
        assertEquals(0, TcpHost.tcp(device(second), "kernel.connections"));
    }

    private void assertOpens(RdmaRawEventLoopGroup group, long byKernel) throws Exception {
        try (ServerSocket far = TcpHost.echoServer(peer, "::")) {
            for (int i = 1; i <= CLIENTS; i++) {
                for (String target : List.of(client(i), client6(i))) {
                    InetSocketAddress remote = address(target, far.getLocalPort());
                    TcpHost.connect(group, remote, new TcpHost.Client()).close().sync();
                }
            }
        }
        assertEquals(byKernel, TcpHost.tcp(device(second), "kernel.connections"));
    }

    @Test
    void servesWithNextHopsOnBothLinks() throws Exception {
        routeByBoth();
        assertServes();
        assertOpens(groups.getFirst(), 0);
    }

    @Test
    void servesWhenOneOfTwoLinksIsDown() throws Exception {
        routeByBoth();
        first.ours().down();
        assertServes();
        assertOpens(groups.getFirst(), 0);
    }

    @Test
    void servesWithRouteByTheOtherLink() throws Exception {
        route("default", "via", "FIRST", "dev", first.ours().name());
        assertServes();
        assertOpens(groups.getFirst(), 2 * CLIENTS);
    }

    /** With policy rules, the kernel is queried for each route and returns one next hop. */
    @Test
    void servesWithNextHopsOnBothLinksAndPolicyRules() throws Exception {
        routeByBoth();
        for (String version : List.of("-4", "-6")) {
            host.run("ip", version, "rule", "add", "fwmark", "7", "lookup", "77");
        }
        assertServes();
        assertOpens(groups.getFirst(), 0);
    }

    /**
     * The kernel drops such a SYN. The transport must not answer it either, so half-open connections do not
     * accumulate.
     */
    @Test
    void synFailingReversePathFilterIsDropped() throws Exception {
        route("default", "via", "FIRST", "dev", first.ours().name());
        // The host does not answer ARP requests for such an address either.
        peer.run("ip", "neigh", "replace", second.ours().ipv4(), "lladdr", second.ours().mac(), "dev",
                second.peer().name());
        filter(host, 1, second.ours().name());
        try (ServerSocket kernel = TcpHost.echoServer(host, "0.0.0.0")) {
            assertFalse(connects(client(1), second.ours().ipv4(), kernel.getLocalPort(), UNANSWERED_MILLIS));
        }
        RdmaRawEventLoopGroup group = on(second);
        int port = listen(group);
        assertFalse(connects(client(1), second.ours().ipv4(), port, UNANSWERED_MILLIS));
        assertTrue(TcpHost.tcp(device(second), "other-link") > 0);
        assertEquals(0, TcpHost.tcp(device(second), "unroutable"));
        assertEquals(0, TcpHost.tcp(device(second), "connections"));
        filter(host, 2, second.ours().name());
        assertTrue(connects(client(2), second.ours().ipv4(), port, Await.PATIENCE_MILLIS));
    }

    @Test
    void synWithoutReturnRouteIsDropped() throws Exception {
        try (ServerSocket kernel = TcpHost.echoServer(host, "0.0.0.0")) {
            assertFalse(connects(client(1), second.ours().ipv4(), kernel.getLocalPort(), UNANSWERED_MILLIS));
        }
        int port = listen(on(second));
        assertFalse(connects(client(1), second.ours().ipv4(), port, UNANSWERED_MILLIS));
        assertTrue(TcpHost.tcp(device(second), "unroutable") > 0);
        assertEquals(0, TcpHost.tcp(device(second), "other-link"));
    }

    /** The address is on the loopback interface and the uplink has none, as on hosts with unnumbered BGP. */
    @Test
    void linkWithoutAddressServesAddressOfLoopback() throws Exception {
        host.run("ip", "addr", "flush", "dev", second.ours().name(), "scope", "global");
        host.run("ip", "addr", "add", "192.0.2.1/32", "dev", "lo");
        host.run("ip", "-4", "route", "add", "198.51.100.0/24", "via", "inet6", "fe80::b", "dev",
                second.ours().name());
        peer.run("ip", "route", "add", "192.0.2.1/32", "via", "inet6", "fe80::2", "dev", second.peer().name());
        try (ServerSocket kernel = TcpHost.echoServer(host, "0.0.0.0")) {
            assertTrue(connects(client(1), "192.0.2.1", kernel.getLocalPort(), Await.PATIENCE_MILLIS));
        }
        RdmaRawEventLoopGroup group = on(second);
        assertTrue(connects(client(1), "192.0.2.1", listen(group), Await.PATIENCE_MILLIS));
        try (ServerSocket far = TcpHost.echoServer(peer, "0.0.0.0")) {
            assertEquals("192.0.2.1", TcpHost.connect(group, address(client(1), far.getLocalPort()),
                    new TcpHost.Client()).localAddress().getAddress().getHostAddress());
        }
        try (DatagramSocket far = peer.call(() -> new DatagramSocket(address(client(1), 0)))) {
            far.setSoTimeout(Await.PATIENCE_MILLIS);
            new Bootstrap().group(group).channel(RdmaRawDatagramChannel.class)
                    .handler(new ChannelInboundHandlerAdapter()).bind(0).sync().channel()
                    .writeAndFlush(new DatagramPacket(Unpooled.wrappedBuffer(new byte[3]),
                            (InetSocketAddress) far.getLocalSocketAddress())).sync();
            java.net.DatagramPacket received = new java.net.DatagramPacket(new byte[8], 8);
            far.receive(received);
            assertEquals("192.0.2.1", received.getAddress().getHostAddress());
        }
        assertEquals(0, TcpHost.tcp(device(second), "kernel.connections"));
    }

    /** As with the kernel, the SYN-ACK announces the MSS of the route to the client. */
    @Test
    void routeSetsMssOfAcceptedConnections() throws Exception {
        String[][] routes = {{"mtu", "1000"}, {"advmss", "700"}, {"mtu", "1000", "advmss", "700"}};
        RdmaRawEventLoopGroup group = on(second);
        int port = listen(group);
        try (ServerSocket kernel = TcpHost.echoServer(host, "0.0.0.0")) {
            for (int i = 1; i <= routes.length; i++) {
                List<String> command = new ArrayList<>(List.of("ip", "route", "add", client(i) + "/32", "via",
                        second.peer().ipv4()));
                command.addAll(List.of(routes[i - 1]));
                host.run(command.toArray(String[]::new));
                assertEquals(segmentBytes(client(i), kernel.getLocalPort()), segmentBytes(client(i), port),
                        command.toString());
            }
        }
    }

    /** Returns the client's send MSS as reported by its kernel. */
    private String segmentBytes(String local, int port) throws Exception {
        try (Socket socket = peer.call(() -> {
            Socket opened = new Socket();
            opened.setSoTimeout(Await.PATIENCE_MILLIS);
            opened.bind(address(local, 0));
            opened.connect(address(second.ours().ipv4(), port), Await.PATIENCE_MILLIS);
            return opened;
        })) {
            exchange(socket, "hello");
            String shown = peer.run("ss", "-tinH", "sport", "=", ":" + socket.getLocalPort()).output();
            return shown.replaceAll("(?s).* mss:(\\d+) .*", "$1");
        }
    }

    /** A link keeps its index when it is renamed. */
    @Test
    void renamedLinkContinuesToServe() throws Exception {
        int port = listen(on(second));
        assertTrue(connects(second.peer().ipv4(), second.ours().ipv4(), port, Await.PATIENCE_MILLIS));
        host.run("ip", "link", "set", second.ours().name(), "name", "renamed0");
        try {
            host.run("ip", "addr", "add", "203.0.113.1/24", "dev", "renamed0");
            peer.run("ip", "addr", "add", "203.0.113.2/24", "dev", second.peer().name());
            // The kernel serves the new address until the loop has been notified of it.
            Await.until("the device to serve the new address", () -> {
                long before = TcpHost.tcp(device(second), "accepted.connections");
                return connectsNow("203.0.113.2", "203.0.113.1", port)
                        && TcpHost.tcp(device(second), "accepted.connections") > before;
            });
            // The loop may still accept connections that the kernel carried before.
            Await.until("an exchange without connections of the kernel", () -> {
                long before = TcpHost.tcp(device(second), "kernel.connections");
                return connectsNow("203.0.113.2", "203.0.113.1", port)
                        && TcpHost.tcp(device(second), "kernel.connections") == before;
            });
            long byKernel = TcpHost.tcp(device(second), "kernel.connections");
            assertTrue(connects("203.0.113.2", "203.0.113.1", port, Await.PATIENCE_MILLIS));
            assertTrue(connects(second.peer().ipv6(), second.ours().ipv6(), port, Await.PATIENCE_MILLIS));
            assertEquals(byKernel, TcpHost.tcp(device(second), "kernel.connections"));
        } finally {
            host.run("ip", "link", "set", "renamed0", "name", second.ours().name());
        }
    }

    private boolean connectsNow(String local, String remote, int port) {
        try {
            return connects(local, remote, port, UNANSWERED_MILLIS);
        } catch (IOException e) {
            // The kernel's connection ends when the device begins to serve the address.
            return false;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
