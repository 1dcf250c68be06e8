package io.rdmaraw.testsuite.socket;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.socket.DatagramPacket;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * The kernel's links, addresses and routes change under channels that have its addresses; Linux is the peer. A server
 * is bound to all addresses throughout and echoes.
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

    /** Asks until there is an answer: what has changed takes its time to be known on both ends. */
    private void assertEchoes(NetworkNamespace client, String from, String address, String text) throws Exception {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        java.net.DatagramPacket answer = new java.net.DatagramPacket(new byte[65535], 65535);
        try (DatagramSocket socket = client.call(() -> new DatagramSocket(
                new InetSocketAddress(InetAddress.ofLiteral(from), 0)))) {
            socket.setSoTimeout(ATTEMPT_MILLIS);
            for (int i = 0; i < ATTEMPTS; i++) {
                socket.send(new java.net.DatagramPacket(bytes, bytes.length, InetAddress.ofLiteral(address), port()));
                try {
                    socket.receive(answer);
                    assertEquals(text, new String(answer.getData(), 0, answer.getLength(), StandardCharsets.US_ASCII));
                    return;
                } catch (SocketTimeoutException e) {
                    // Not known yet.
                }
            }
        }
        throw new AssertionError("no answer came from " + address);
    }

    private void assertEchoes(String text) throws Exception {
        assertEchoes(peer, pair.peer().ipv4(), pair.ours().ipv4(), text);
        assertEchoes(peer, pair.peer().ipv6(), pair.ours().ipv6(), text);
    }

    /** Waits until a datagram comes by the device: until then the kernel's socket serves. */
    private void assertComesByDevice(String from, String address) throws Exception {
        for (int i = 0; i < ATTEMPTS; i++) {
            long byKernel = echo.onLoop(() -> server.statistics().receivedFromKernel());
            assertEchoes(peer, from, address, "by the device?");
            if (echo.onLoop(() -> server.statistics().receivedFromKernel()) == byKernel) {
                return;
            }
        }
        throw new AssertionError("datagrams to " + address + " still come by the kernel");
    }

    /** The test kit's pairs know each other's MAC addresses for good; here they are to be found out. */
    private void forgetNeighbors() {
        for (String version : new String[] {"-4", "-6"}) {
            host.attempt("ip", version, "neigh", "del", version.equals("-4") ? pair.peer().ipv4() : pair.peer().ipv6(),
                    "dev", pair.ours().name());
            peer.attempt("ip", version, "neigh", "del", version.equals("-4") ? pair.ours().ipv4() : pair.ours().ipv6(),
                    "dev", pair.peer().name());
        }
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

    /** The peer goes silent until nobody knows it any more, and comes back with another MAC address. */
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

    /** {@code ip rule}: routes in other tables, for some destinations and for some sources. */
    @Test
    void policyRulesAreFollowed() throws Exception {
        forgetNeighbors();
        peer.run("ip", "addr", "add", "198.51.100.1/32", "dev", "lo");
        peer.run("ip", "addr", "add", "198.51.100.2/32", "dev", "lo");
        host.run("ip", "route", "add", "198.51.100.0/24", "via", pair.peer().ipv4(), "table", "77");
        // The main table would lead nowhere.
        host.run("ip", "route", "add", "198.51.100.0/24", "via", unusedNeighbor());
        host.run("ip", "rule", "add", "to", "198.51.100.1", "lookup", "77");
        assertEchoes(peer, "198.51.100.1", pair.ours().ipv4(), "by the rule for a destination");
        host.run("ip", "rule", "del", "to", "198.51.100.1", "lookup", "77");
        host.run("ip", "rule", "add", "from", pair.ours().ipv4(), "lookup", "77");
        RdmaRawDatagramChannel ours = echo.serve(new InetSocketAddress(InetAddress.ofLiteral(pair.ours().ipv4()), 0));
        RdmaRawDatagramChannel wildcard = server;
        server = ours;
        assertEchoes(peer, "198.51.100.2", pair.ours().ipv4(), "by the rule for a source");
        assertEquals(0, ours.statistics().sentToKernel() + wildcard.statistics().sentToKernel());
    }

    /** What goes by the kernel's socket of the port is marked like what goes by the device. */
    @Test
    void policyRulesForAMarkAreFollowed() throws Exception {
        forgetNeighbors();
        peer.run("ip", "addr", "add", "198.51.100.1/32", "dev", "lo");
        host.run("ip", "route", "add", "198.51.100.0/24", "via", pair.peer().ipv4(), "table", "77");
        host.run("ip", "rule", "add", "fwmark", "9", "lookup", "77");
        server = echo.serve(new InetSocketAddress(0), 9);
        assertEchoes(peer, "198.51.100.1", pair.ours().ipv4(), "by the rule for a mark");
        assertEquals(0, server.statistics().sentToKernel());
        VethPair other = network.vethPair(host, network.namespace());
        other.peer().namespace().run("ip", "addr", "add", "198.51.100.1/32", "dev", "lo");
        host.run("ip", "route", "replace", "198.51.100.0/24", "via", other.peer().ipv4(), "table", "77");
        assertEchoes(other.peer().namespace(), "198.51.100.1", other.ours().ipv4(), "by another interface");
        assertTrue(server.statistics().sentToKernel() > 0);
    }

    /** Returns an address of the link's subnet that nobody has. */
    private String unusedNeighbor() {
        String address = pair.peer().ipv4();
        int dot = address.lastIndexOf('.');
        int last = Integer.parseInt(address.substring(dot + 1));
        return address.substring(0, dot + 1) + ((last & ~0xf) + 14);
    }

    @Test
    void whatWaitsForANeighborIsReleasedWhenTheLoopEnds() throws Exception {
        ByteBuf content = Unpooled.copiedBuffer("waits", StandardCharsets.US_ASCII);
        server.writeAndFlush(new DatagramPacket(content,
                new InetSocketAddress(InetAddress.ofLiteral(unusedNeighbor()), 9))).sync();
        assertEquals(0, content.refCnt(), "a copy waits for the neighbour's address");
        assertEquals(0, server.statistics().droppedUnresolved());
        echo.close();
        assertEquals(1, server.statistics().droppedUnresolved());
    }

    /** Every link has the route to {@code fe80::/64}, and the kernel's best one is another link's. */
    @Test
    void linkLocalAddressesAreOfTheDevicesLink() throws Exception {
        VethPair other = network.vethPair(host, network.namespace());
        host.run("ip", "-6", "addr", "del", "fe80::1/64", "dev", pair.ours().name());
        host.run("ip", "-6", "addr", "add", "fe80::9/64", "dev", other.ours().name(), "nodad");
        host.run("ip", "-6", "addr", "add", "fe80::1/64", "dev", pair.ours().name(), "nodad");
        peer.run("ip", "-6", "addr", "add", "fe80::2/64", "dev", pair.peer().name(), "nodad");
        // By number: the JDK knows names of its own namespace only.
        String scope = "%" + pair.peer().index();
        byte[] bytes = {1, 2, 3};
        try (DatagramSocket socket = peer.call(() -> new DatagramSocket())) {
            socket.setSoTimeout(ATTEMPT_MILLIS);
            InetAddress server6 = InetAddress.getByName("fe80::1" + scope);
            java.net.DatagramPacket answer = new java.net.DatagramPacket(new byte[10], 10);
            boolean byTheDevice = false;
            for (int i = 0; i < ATTEMPTS && !byTheDevice; i++) {
                long byKernel = sentToKernel();
                socket.send(new java.net.DatagramPacket(bytes, bytes.length, server6, port()));
                try {
                    socket.receive(answer);
                    // The kernel's socket stands in until the loop has heard of the new address; what it has taken may
                    // be answered by the device already, from another address.
                    byTheDevice = sentToKernel() == byKernel && answer.getAddress().equals(server6);
                } catch (SocketTimeoutException e) {
                    // Not known yet.
                }
            }
            assertTrue(byTheDevice, "answers go out by the device, once it has the address");
            assertEquals(port(), answer.getPort());
            assertEquals(server6, answer.getAddress());
        }
    }

    private long sentToKernel() throws Exception {
        return echo.onLoop(() -> server.statistics().sentToKernel());
    }

    /** A host that is a router too: what passes through it is not its servers', though the port be the same. */
    @Test
    void aRoutersServersTakeOnlyWhatIsForTheRouter() throws Exception {
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
                    // Neighbours are not known yet.
                }
            }
            assertEquals(client.getLocalPort(), passed.getPort(), "the one behind the router has got it");
            // The far link's address is the router's too; datagrams for it come by the kernel's socket.
            assertEchoes(peer, pair.peer().ipv4(), second.ours().ipv4(), "the other side of the router");
        }
        assertTrue(echo.onLoop(() -> server.statistics().droppedNotForChannel()) == 0);
    }

    /** How the device is reached; followed by the interface's name. */
    String provider() {
        return "soft:packet:";
    }
}
