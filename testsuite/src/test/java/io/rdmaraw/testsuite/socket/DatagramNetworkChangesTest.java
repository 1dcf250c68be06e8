package io.rdmaraw.testsuite.socket;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.socket.DatagramPacket;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.host.IpHost;
import io.rdmaraw.host.kernel.KernelIpHost;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.LocalAddress;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PacketPort;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import io.rdmaraw.wire.EtherType;
import io.rdmaraw.wire.EthernetHeader;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.MacAddress;
import io.rdmaraw.wire.UdpHeader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import java.net.DatagramSocket;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.MulticastSocket;
import java.net.NetworkInterface;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Changes links, addresses and routes of the kernel while datagram channels use them. The peer is Linux. In every test,
 * an echo server is bound to all addresses.
 */
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class DatagramNetworkChangesTest {
    private static final int ATTEMPTS = 300;
    private static final int ATTEMPT_MILLIS = 100;

    private TestNetwork network;
    private NetworkNamespace host;
    private NetworkNamespace peer;
    private VethPair pair;
    private DatagramEchoHost echo;
    private RdmaRawDatagramChannel server;

    @BeforeEach
    void open(TestNetwork made) throws Exception {
        network = made;
        echo = new DatagramEchoHost(network);
        echo.start(provider(), RdmaRawIoHandlerConfig.builder());
        server = echo.server();
        pair = echo.pair();
        host = echo.namespace();
        peer = pair.peer().namespace();
    }

    @AfterEach
    void close() {
        echo.close();
    }

    private int port() {
        return server.localAddress().getPort();
    }

    /** Sends until the echo arrives. Both ends need time to notice a change. */
    private void assertEchoes(NetworkNamespace client, String from, String address, String text) throws Exception {
        assertEchoes(client, from, address, text, ATTEMPTS, ATTEMPT_MILLIS);
    }

    private void assertEchoes(NetworkNamespace client, String from, String address, String text, int attempts,
            int attemptMillis) throws Exception {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        java.net.DatagramPacket answer = new java.net.DatagramPacket(new byte[65535], 65535);
        try (DatagramSocket socket = client.call(() -> new DatagramSocket(
                new InetSocketAddress(InetAddress.ofLiteral(from), 0)))) {
            socket.setSoTimeout(attemptMillis);
            for (int i = 0; i < attempts; i++) {
                socket.send(new java.net.DatagramPacket(bytes, bytes.length, InetAddress.ofLiteral(address), port()));
                try {
                    socket.receive(answer);
                    assertEquals(text, new String(answer.getData(), 0, answer.getLength(), StandardCharsets.US_ASCII));
                    return;
                } catch (SocketTimeoutException e) {
                    // The change is not known yet.
                }
            }
        }
        throw new AssertionError("no answer came from " + address);
    }

    private void assertEchoes(String text) throws Exception {
        assertEchoes(peer, pair.peer().ipv4(), pair.ours().ipv4(), text);
        assertEchoes(peer, pair.peer().ipv6(), pair.ours().ipv6(), text);
    }

    /** Waits until a datagram arrives by the device. Until then the kernel's socket receives them. */
    private void assertComesByDevice(String from, String address) throws Exception {
        long beganNanos = System.nanoTime();
        while (System.nanoTime() - beganNanos < Await.PATIENCE.toNanos()) {
            long byKernel = echo.onLoop(() -> server.statistics().receivedByKernel());
            assertEchoes(peer, from, address, "by the device?");
            if (echo.onLoop(() -> server.statistics().receivedByKernel()) == byKernel) {
                return;
            }
        }
        throw new AssertionError("datagrams to " + address + " still come by the kernel");
    }

    /** Deletes the permanent neighbour entries that the fixture creates, so that neighbour discovery is tested. */
    private void forgetNeighbors() {
        for (String version : new String[] {"-4", "-6"}) {
            host.attempt("ip", version, "neigh", "del", version.equals("-4") ? pair.peer().ipv4() : pair.peer().ipv6(),
                    "dev", pair.ours().name());
            peer.attempt("ip", version, "neigh", "del", version.equals("-4") ? pair.ours().ipv4() : pair.ours().ipv6(),
                    "dev", pair.peer().name());
        }
    }

    /**
     * A datagram with the host's own address or a broadcast address as source is dropped. An echo to it would come back
     * to the server.
     */
    @Test
    void aDatagramFromTheHostsOwnAddressIsForged() throws Exception {
        for (String source : new String[] {pair.ours().ipv4(), "203.0.113.255"}) {
            host.attempt("ip", "addr", "add", "203.0.113.1/24", "brd", "+", "dev", pair.ours().name());
            assertEchoes("before");
            long before = echo.onLoop(() -> server.statistics().droppedMartians());
            forge(IpAddress.parse(source), IpAddress.parse(pair.ours().ipv4()));
            assertEchoes("after");
            Await.until("the forged datagram", () -> server.statistics().droppedMartians() == before + 1);
            assertEquals(0, echo.onLoop(() -> server.statistics().sentByKernel()));
        }
    }

    private void forge(IpAddress source, IpAddress destination) {
        forge(MacAddress.parse(pair.ours().mac()), source, destination);
    }

    private void forge(long mac, IpAddress source, IpAddress destination) {
        long frame = Libc.allocateZeroed(64);
        try (PacketPort port = PacketPort.open(pair.peer())) {
            EthernetHeader.write(frame, mac, MacAddress.parse(pair.peer().mac()),
                    EtherType.IPV4);
            long ip = frame + EthernetHeader.LENGTH_BYTES;
            Ipv4Header.write(ip, 0, Ipv4Header.MIN_LENGTH_BYTES + UdpHeader.LENGTH_BYTES, 0,
                    Ipv4Header.DONT_FRAGMENT, 64, IpProtocol.UDP, source.ipv4(), destination.ipv4());
            UdpHeader.write(ip + Ipv4Header.MIN_LENGTH_BYTES, port(), port(), UdpHeader.LENGTH_BYTES);
            port.sendFrom(0, frame, 64);
            port.send(1);
        } finally {
            Libc.free(frame);
        }
    }

    @Test
    void broadcastsOfForeignSubnetsAreNotDelivered() throws Exception {
        assertEchoes("before");
        assertComesByDevice(pair.peer().ipv4(), pair.ours().ipv4());
        // Datagrams keep their order, so all earlier ones have been received when this one comes back.
        assertEchoes(peer, pair.peer().ipv4(), pair.ours().ipv4(), "the last", 1, Await.PATIENCE_MILLIS);
        long delivered = echo.onLoop(() -> server.statistics().receivedDatagrams());
        forge(EthernetHeader.BROADCAST, IpAddress.parse(pair.peer().ipv4()), IpAddress.parse("203.0.113.255"));
        Await.until("the broadcast", () -> server.statistics().droppedNotForChannel() == 1);
        assertEquals(delivered, echo.onLoop(() -> server.statistics().receivedDatagrams()));
    }

    /** The error depends on the route type and is the same as the kernel's. */
    @Test
    void errorsOfRefusingRoutesAreTheKernels() throws Exception {
        InetSocketAddress far = new InetSocketAddress(InetAddress.ofLiteral("198.51.100.7"), 9);
        for (String[] each : new String[][] {{"blackhole", "EINVAL"}, {"unreachable", "EHOSTUNREACH"},
            {"prohibit", "EACCES"}}) {
            host.run("ip", "route", "replace", each[0], "198.51.100.0/24");
            Await.until(each[1], () -> {
                Throwable failure = server.writeAndFlush(new DatagramPacket(Unpooled.wrappedBuffer(new byte[3]), far))
                        .awaitUninterruptibly().cause();
                return failure != null && failure.getMessage().contains(each[1]);
            });
        }
    }

    /** A server bound to the wildcard follows IPv6 policy rules for the source address that the host would select. */
    @Test
    void rulesForASourceCountForTheWildcard() throws Exception {
        InetAddress far = InetAddress.ofLiteral("2001:db8:f0::7");
        peer.run("ip", "-6", "addr", "add", far.getHostAddress() + "/128", "dev", "lo", "nodad");
        host.run("ip", "-6", "route", "add", "default", "via", pair.peer().ipv6(), "table", "77");
        host.run("ip", "-6", "rule", "add", "from", pair.ours().ipv6(), "lookup", "77");
        try (DatagramSocket there = socket(peer, "::")) {
            Await.until("the rule", () -> server.writeAndFlush(new DatagramPacket(
                    Unpooled.wrappedBuffer(new byte[3]), new InetSocketAddress(far, 7777))).awaitUninterruptibly()
                    .isSuccess());
            assertEquals(IpAddress.parse(pair.ours().ipv6()), IpAddress.of(receive(there)));
        }
    }

    /** Neighbours are resolved although the kernel solicits without a packet only from a link-local address. */
    @Test
    void neighborsAreResolvedWithoutALinkLocalAddress() throws Exception {
        host.run("ip", "-6", "addr", "del", "fe80::1/64", "dev", pair.ours().name());
        forgetNeighbors();
        assertComesByDevice(pair.peer().ipv6(), pair.ours().ipv6());
        assertEquals(0, sentByKernel());
        assertEquals(0, server.statistics().droppedUnresolved());
    }

    /** The channel continues after its link is renamed, because a link keeps its index. */
    @Test
    void theLinkIsRenamed() throws Exception {
        assertEchoes("before");
        host.run("ip", "link", "set", pair.ours().name(), "name", "renamed0");
        try {
            host.run("ip", "addr", "add", "203.0.113.1/24", "dev", "renamed0");
            peer.run("ip", "addr", "add", "203.0.113.2/24", "dev", pair.peer().name());
            assertComesByDevice("203.0.113.2", "203.0.113.1");
            assertComesByDevice(pair.peer().ipv6(), pair.ours().ipv6());
        } finally {
            host.run("ip", "link", "set", "renamed0", "name", pair.ours().name());
        }
    }

    private void send(InetSocketAddress to) {
        server.writeAndFlush(new DatagramPacket(Unpooled.wrappedBuffer(new byte[3]), to)).syncUninterruptibly();
    }

    private static DatagramSocket socket(NetworkNamespace namespace, String address) throws Exception {
        DatagramSocket socket = namespace.call(() -> new DatagramSocket(
                new InetSocketAddress(InetAddress.ofLiteral(address), 7777)));
        socket.setSoTimeout(Await.PATIENCE_MILLIS);
        return socket;
    }

    private static InetAddress receive(DatagramSocket socket) throws Exception {
        java.net.DatagramPacket packet = new java.net.DatagramPacket(new byte[8], 8);
        socket.receive(packet);
        return packet.getAddress();
    }

    @Test
    void broadcastsToAnotherLinksSubnetLeaveByThatLink(TestNetwork network) throws Exception {
        VethPair other = network.vethPair(host, network.namespace());
        host.run("ip", "addr", "add", "203.0.113.1/24", "brd", "+", "dev", other.ours().name());
        other.peer().namespace().run("ip", "addr", "add", "203.0.113.2/24", "brd", "+", "dev", other.peer().name());
        server.config().setBroadcast(true);
        try (DatagramSocket there = socket(other.peer().namespace(), "0.0.0.0")) {
            Await.until("the route", () -> {
                send(new InetSocketAddress(InetAddress.ofLiteral("203.0.113.255"), 7777));
                return server.statistics().sentByKernel() > 0;
            });
            assertEquals("203.0.113.1", receive(there).getHostAddress());
        }
    }

    /** Both links have the same link-local address and port. The scope id selects the link. */
    @Test
    void datagramsToLinkLocalAddressesGoToTheirLink(TestNetwork network) throws Exception {
        VethPair other = network.vethPair(host, network.namespace());
        host.run("ip", "addr", "add", "fe80::1/64", "dev", other.ours().name(), "nodad");
        for (VethPair each : new VethPair[] {pair, other}) {
            each.peer().namespace().run("ip", "addr", "add", "fe80::2/64", "dev", each.peer().name(), "nodad");
        }
        Inet6Address far = (Inet6Address) InetAddress.ofLiteral("fe80::2");
        for (VethPair each : new VethPair[] {pair, other, pair}) {
            try (DatagramSocket there = socket(each.peer().namespace(), "::")) {
                send(new InetSocketAddress(Inet6Address.getByAddress(null, far.getAddress(), each.ours().index()),
                        7777));
                assertEquals("fe80:0:0:0:0:0:0:1", receive(there).getHostAddress().replaceAll("%.*", ""));
            }
        }
        assertEquals(1, server.statistics().sentByKernel());
    }

    /**
     * The source address has the scope of the group: routers must not forward packets from a link-local address (RFC
     * 4291 section 2.5.6).
     */
    @Test
    void datagramsToIpv6GroupsComeFromAnAddressOfTheirScope() throws Exception {
        // Makes this address newer than the link-local one, as an address from DHCPv6 would be.
        IpHost known = host.call(KernelIpHost::ofCallingThread);
        host.run("ip", "addr", "del", pair.ours().ipv6() + "/64", "dev", pair.ours().name());
        Await.until("the loops to forget the address", () -> !isKnown(known, pair.ours().ipv6()));
        host.run("ip", "addr", "add", pair.ours().ipv6() + "/64", "dev", pair.ours().name(), "nodad");
        Await.until("the loops to know the address", () -> isKnown(known, pair.ours().ipv6()));
        for (String group : new String[] {"ff0e::7777", "ff02::7777"}) {
            try (MulticastSocket there = peer.call(() -> new MulticastSocket(7777))) {
                there.setSoTimeout(Await.PATIENCE_MILLIS);
                peer.call(() -> {
                    there.joinGroup(new InetSocketAddress(InetAddress.ofLiteral(group), 0),
                            NetworkInterface.getByName(pair.peer().name()));
                    return 0;
                });
                send(new InetSocketAddress(InetAddress.ofLiteral(group), 7777));
                assertEquals(IpAddress.parse(group.startsWith("ff02") ? "fe80::1" : pair.ours().ipv6()),
                        IpAddress.of(receive(there)));
            }
        }
    }

    private static boolean isKnown(IpHost host, String address) {
        return host.snapshot().addresses().stream().map(LocalAddress::address)
                .anyMatch(IpAddress.parse(address)::equals);
    }

    @Test
    void ourMacAddressChanges() throws Exception {
        forgetNeighbors();
        assertEchoes("before");
        host.run("ip", "link", "set", pair.ours().name(), "address", "02:00:00:00:66:66");
        forgetNeighbors();
        assertEchoes("after");
        assertComesByDevice(pair.peer().ipv4(), pair.ours().ipv4());
        assertComesByDevice(pair.peer().ipv6(), pair.ours().ipv6());
    }

    @Test
    void addressesComeAndGo() throws Exception {
        peer.run("ip", "addr", "add", "203.0.113.2/24", "dev", pair.peer().name());
        assertEchoes("before");
        host.run("ip", "addr", "add", "203.0.113.1/24", "dev", pair.ours().name());
        assertEchoes(peer, "203.0.113.2", "203.0.113.1", "a new address");
        assertComesByDevice("203.0.113.2", "203.0.113.1");
        host.run("ip", "addr", "del", "203.0.113.1/24", "dev", pair.ours().name());
        host.run("ip", "addr", "del", pair.ours().ipv4() + "/28", "dev", pair.ours().name());
        host.run("ip", "addr", "add", pair.ours().ipv4() + "/28", "dev", pair.ours().name());
        assertEchoes("the old ones");
        assertComesByDevice(pair.peer().ipv4(), pair.ours().ipv4());
    }

    @Test
    void theLinkGoesDownAndUp() throws Exception {
        forgetNeighbors();
        assertEchoes("before");
        pair.peer().down();
        pair.peer().up();
        peer.run("ip", "-6", "addr", "replace", pair.peer().ipv6() + "/64", "dev", pair.peer().name(), "nodad");
        assertEchoes("the peer's end was down");
        pair.ours().down();
        pair.ours().up();
        host.run("ip", "-6", "addr", "replace", pair.ours().ipv6() + "/64", "dev", pair.ours().name(), "nodad");
        host.run("ip", "-6", "addr", "replace", "fe80::1/64", "dev", pair.ours().name(), "nodad");
        assertEchoes("ours was down");
        assertComesByDevice(pair.peer().ipv4(), pair.ours().ipv4());
    }

    /** The peer goes down, its neighbour entries expire, and it returns with another MAC address. */
    @Test
    void aNeighborGoesAndComesBack() throws Exception {
        forgetNeighbors();
        assertEchoes("before");
        pair.peer().down();
        forgetNeighbors();
        peer.run("ip", "link", "set", pair.peer().name(), "address", "02:00:00:00:55:55");
        pair.peer().up();
        peer.run("ip", "-6", "addr", "replace", pair.peer().ipv6() + "/64", "dev", pair.peer().name(), "nodad");
        assertEchoes("after");
    }

    /** Policy rules select other route tables by destination and by source. */
    @Test
    void policyRulesAreFollowed() throws Exception {
        forgetNeighbors();
        peer.run("ip", "addr", "add", "198.51.100.1/32", "dev", "lo");
        peer.run("ip", "addr", "add", "198.51.100.2/32", "dev", "lo");
        host.run("ip", "route", "add", "198.51.100.0/24", "via", pair.peer().ipv4(), "table", "77");
        // A route in the main table that leads nowhere. Only the policy rule makes the address reachable.
        host.run("ip", "route", "add", "198.51.100.0/24", "via", unusedNeighbor());
        host.run("ip", "rule", "add", "to", "198.51.100.1", "lookup", "77");
        assertEchoes(peer, "198.51.100.1", pair.ours().ipv4(), "by the rule for a destination");
        host.run("ip", "rule", "del", "to", "198.51.100.1", "lookup", "77");
        host.run("ip", "rule", "add", "from", pair.ours().ipv4(), "lookup", "77");
        RdmaRawDatagramChannel ours = echo.serve(new InetSocketAddress(InetAddress.ofLiteral(pair.ours().ipv4()), 0));
        RdmaRawDatagramChannel wildcard = server;
        server = ours;
        assertEchoes(peer, "198.51.100.2", pair.ours().ipv4(), "by the rule for a source");
        assertEquals(0, ours.statistics().sentByKernel() + wildcard.statistics().sentByKernel());
    }

    /** Routes selected by {@code SO_MARK} apply to the device and to the kernel socket that serves other interfaces. */
    @Test
    void policyRulesForAMarkAreFollowed() throws Exception {
        forgetNeighbors();
        peer.run("ip", "addr", "add", "198.51.100.1/32", "dev", "lo");
        host.run("ip", "route", "add", "198.51.100.0/24", "via", pair.peer().ipv4(), "table", "77");
        host.run("ip", "rule", "add", "fwmark", "9", "lookup", "77");
        server = echo.serve(new InetSocketAddress(0), 9);
        assertEchoes(peer, "198.51.100.1", pair.ours().ipv4(), "by the rule for a mark");
        assertEquals(0, server.statistics().sentByKernel());
        VethPair other = network.vethPair(host, network.namespace());
        other.peer().namespace().run("ip", "addr", "add", "198.51.100.1/32", "dev", "lo");
        host.run("ip", "route", "replace", "198.51.100.0/24", "via", other.peer().ipv4(), "table", "77");
        assertEchoes(other.peer().namespace(), "198.51.100.1", other.ours().ipv4(), "by another interface");
        assertTrue(server.statistics().sentByKernel() > 0);
    }

    /** Returns an unused address of the link's subnet. */
    private String unusedNeighbor() {
        String address = pair.peer().ipv4();
        int dot = address.lastIndexOf('.');
        int last = Integer.parseInt(address.substring(dot + 1));
        return address.substring(0, dot + 1) + ((last & ~0xf) + 14);
    }

    @Test
    void datagramsThatAwaitANeighborAreReleasedWhenTheLoopEnds() throws Exception {
        ByteBuf content = Unpooled.copiedBuffer("waits", StandardCharsets.US_ASCII);
        server.writeAndFlush(new DatagramPacket(content,
                new InetSocketAddress(InetAddress.ofLiteral(unusedNeighbor()), 9))).sync();
        assertEquals(0, content.refCnt(), "a copy waits for the neighbour's address");
        assertEquals(0, server.statistics().droppedUnresolved());
        echo.close();
        assertEquals(1, server.statistics().droppedUnresolved());
    }

    /**
     * A server on a link-local address replies by its own link. The kernel prefers another link's route to {@code
     * fe80::/64}.
     */
    @Test
    void linkLocalAddressesAreOfTheDevicesLink() throws Exception {
        VethPair other = network.vethPair(host, network.namespace());
        host.run("ip", "-6", "addr", "del", "fe80::1/64", "dev", pair.ours().name());
        host.run("ip", "-6", "addr", "add", "fe80::9/64", "dev", other.ours().name(), "nodad");
        host.run("ip", "-6", "addr", "add", "fe80::1/64", "dev", pair.ours().name(), "nodad");
        peer.run("ip", "-6", "addr", "add", "fe80::2/64", "dev", pair.peer().name(), "nodad");
        // The scope is a number, because the JDK resolves interface names only in the namespace of this process.
        String scope = "%" + pair.peer().index();
        byte[] bytes = {1, 2, 3};
        try (DatagramSocket socket = peer.call(() -> new DatagramSocket())) {
            socket.setSoTimeout(ATTEMPT_MILLIS);
            InetAddress server6 = InetAddress.getByName("fe80::1" + scope);
            java.net.DatagramPacket answer = new java.net.DatagramPacket(new byte[10], 10);
            boolean byTheDevice = false;
            long beganNanos = System.nanoTime();
            while (!byTheDevice && System.nanoTime() - beganNanos < Await.PATIENCE.toNanos()) {
                long byKernel = sentByKernel();
                socket.send(new java.net.DatagramPacket(bytes, bytes.length, server6, port()));
                try {
                    socket.receive(answer);
                    // The kernel's socket receives until the loop knows the new address. A reply to such a datagram may
                    // leave by the device with another source address.
                    byTheDevice = sentByKernel() == byKernel && answer.getAddress().equals(server6);
                } catch (SocketTimeoutException e) {
                    // The new address is not known yet.
                }
            }
            assertTrue(byTheDevice, "answers go out by the device, once it has the address");
            assertEquals(port(), answer.getPort());
            assertEquals(server6, answer.getAddress());
        }
    }

    private long sentByKernel() throws Exception {
        return echo.onLoop(() -> server.statistics().sentByKernel());
    }

    /**
     * A server on a router receives only datagrams addressed to the router. The router forwards others, even if they
     * have the server's port.
     */
    @Test
    void serversOfARouterReceiveOnlyDatagramsForTheRouter() throws Exception {
        NetworkNamespace far = network.namespace();
        VethPair second = network.vethPair(host, far);
        host.run("sysctl", "-qw", "net.ipv4.ip_forward=1");
        peer.run("ip", "route", "add", second.peer().ipv4() + "/32", "via", pair.ours().ipv4());
        peer.run("ip", "route", "add", second.ours().ipv4() + "/32", "via", pair.ours().ipv4());
        far.run("ip", "route", "add", pair.peer().ipv4() + "/32", "via", second.ours().ipv4());
        try (DatagramSocket behind = far.call(() -> new DatagramSocket(
                        new InetSocketAddress(InetAddress.ofLiteral(second.peer().ipv4()), port())));
                DatagramSocket client = peer.call(() -> new DatagramSocket())) {
            behind.setSoTimeout(ATTEMPT_MILLIS);
            assertEchoes("at the router");
            java.net.DatagramPacket passed = new java.net.DatagramPacket(new byte[100], 100);
            for (int i = 0; i < ATTEMPTS && passed.getPort() <= 0; i++) {
                client.send(new java.net.DatagramPacket(new byte[] {1, 2, 3}, 3,
                        InetAddress.ofLiteral(second.peer().ipv4()), port()));
                try {
                    behind.receive(passed);
                } catch (SocketTimeoutException e) {
                    // The neighbours are not resolved yet.
                }
            }
            assertEquals(client.getLocalPort(), passed.getPort(), "the one behind the router has got it");
            // The address of the far link belongs to the router too. The kernel's socket receives datagrams for it.
            assertEchoes(peer, pair.peer().ipv4(), second.ours().ipv4(), "the other side of the router");
        }
        assertTrue(echo.onLoop(() -> server.statistics().droppedNotForChannel()) == 0);
    }

    /** Returns the prefix of the device name; the interface's name follows it. */
    String provider() {
        return "soft:packet:";
    }
}
