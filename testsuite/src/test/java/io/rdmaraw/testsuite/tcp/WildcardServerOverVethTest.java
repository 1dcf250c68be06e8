package io.rdmaraw.testsuite.tcp;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.DatagramPacket;
import io.netty.util.CharsetUtil;
import io.rdmaraw.channel.RdmaRawChannelOption;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.faults.SoftverbsFaults;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.metrics.RdmaRawQueueStatistics;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethEnd;
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
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Tests servers on the wildcard address, which serve the addresses of their host and no others. */
@Timeout(120)
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class WildcardServerOverVethTest {
    private static final int LIMIT_MILLIS = 30_000;
    /** Lower than the ephemeral ports of the kernel. */
    private static final int FIRST_FORGED_PORT = 20_000;
    private static final String OURS = "ours";
    private static final String THEIRS = "them";
    private static final String ADDED = "198.51.100.5";
    private static final String NEXT = "198.51.100.6";
    private static final String OWN_MAC = "02:00:00:0a:00:05";
    private static final String OWN_ADDRESS = "203.0.113.77";
    private static final String OWN_GATEWAY = "203.0.113.1";

    private TestNetwork network;
    private NetworkNamespace host;
    private NetworkNamespace clients;
    private VethPair pair;
    private String device;
    private RdmaRawEventLoopGroup group;
    private String clientAddress;

    /** Sends a text that identifies this server, and closes. */
    @Sharable
    private static final class Greeter extends ChannelInboundHandlerAdapter {
        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            ctx.writeAndFlush(Unpooled.copiedBuffer(OURS, CharsetUtil.US_ASCII));
            ctx.close();
        }
    }

    @BeforeEach
    void open(TestNetwork made) {
        network = made;
        host = network.namespace();
        clients = network.namespace();
        pair = network.vethPair(host, clients);
    }

    @AfterEach
    void close() {
        if (group != null) {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private Channel serve(String provider, String address, int port) throws InterruptedException {
        return serve(config(provider), address, port);
    }

    private RdmaRawIoHandlerConfig.Builder config(String provider) {
        device = "soft:" + provider + ':' + pair.ours().name();
        return RdmaRawIoHandlerConfig.builder().device(device);
    }

    private Channel serve(RdmaRawIoHandlerConfig.Builder config, String address, int port)
            throws InterruptedException {
        group = new RdmaRawEventLoopGroup(2, host.threadFactory(), config.build());
        return new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class).childHandler(new Greeter())
                .bind(new InetSocketAddress(InetAddress.ofLiteral(address), port)).sync().channel();
    }

    private static int portOf(Channel server) {
        return ((InetSocketAddress) server.localAddress()).getPort();
    }

    private String greeting(String address, int port) throws Exception {
        return clients.call(() -> {
            try (Socket socket = new Socket()) {
                socket.setSoTimeout(LIMIT_MILLIS);
                socket.connect(new InetSocketAddress(InetAddress.ofLiteral(address), port), LIMIT_MILLIS);
                return new String(socket.getInputStream().readAllBytes(), CharsetUtil.US_ASCII);
            }
        });
    }

    private long tcp(String name) {
        return RdmaRawMetrics.loops().stream().flatMap(loop -> loop.queues().stream())
                .filter(queue -> queue.deviceName().equals(device)).mapToLong(queue -> tcp(queue, name)).sum();
    }

    private static long tcp(RdmaRawQueueStatistics queue, String name) {
        RdmaRawMetered tcp = queue.channels().get("tcp");
        return tcp == null ? 0 : tcp.metrics().stream().filter(each -> each.name().equals(name))
                .mapToLong(tcp::value).sum();
    }

    /** Starts a kernel server behind this host, which forwards packets. */
    private static ServerSocket greeterBehind(VethEnd end) throws Exception {
        ServerSocket server = end.namespace().call(() -> new ServerSocket(0, 50, InetAddress.ofLiteral("::")));
        Thread.ofPlatform().daemon().start(() -> {
            while (!server.isClosed()) {
                try (Socket socket = server.accept()) {
                    socket.getOutputStream().write(THEIRS.getBytes(CharsetUtil.US_ASCII));
                } catch (IOException e) {
                    // The client has closed or the test has ended.
                }
            }
        });
        return server;
    }

    @ParameterizedTest
    @ValueSource(strings = {"xdp", "packet"})
    void forwardedConnectionsAreNotServed(String provider) throws Exception {
        host.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1");
        VethPair behind = network.vethPair(host, network.namespace());
        // Link-local addresses, from which hosts and routers send neighbour solicitations.
        int number = 1;
        for (VethEnd end : List.of(pair.ours(), pair.peer(), behind.ours(), behind.peer())) {
            end.namespace().run("ip", "-6", "addr", "add", "fe80::" + number++ + "/64", "dev", end.name(), "nodad");
        }
        clients.run("ip", "route", "add", behind.peer().ipv4(), "via", pair.ours().ipv4());
        clients.run("ip", "-6", "route", "add", behind.peer().ipv6(), "via", pair.ours().ipv6());
        behind.peer().namespace().run("ip", "route", "add", "default", "via", behind.ours().ipv4());
        behind.peer().namespace().run("ip", "-6", "route", "add", "default", "via", behind.ours().ipv6());
        try (ServerSocket theirs = greeterBehind(behind.peer())) {
            int port = theirs.getLocalPort();
            serve(provider, "::", port);
            for (int i = 0; i < 4; i++) {
                assertEquals(THEIRS, greeting(behind.peer().ipv4(), port));
                assertEquals(THEIRS, greeting(behind.peer().ipv6(), port));
                assertEquals(OURS, greeting(pair.ours().ipv4(), port));
                assertEquals(OURS, greeting(pair.ours().ipv6(), port));
            }
            assertEquals(0, tcp("kernel.connections"));
            // The host's other address is reached through this link too; the kernel serves it.
            clients.run("ip", "route", "add", behind.ours().ipv4(), "via", pair.ours().ipv4());
            assertEquals(OURS, greeting(behind.ours().ipv4(), port));
            assertEquals(1, tcp("kernel.connections"));
        }
    }

    /** Sends SYNs to foreign addresses and then one to the host's address. Only the last one may be answered. */
    private void assertOnlyOursAnswers(String mac, String ours, int port) {
        int clientPort = FIRST_FORGED_PORT;
        List<String> foreign = List.of("8.8.8.8", "192.0.2.55", "0.0.0.0", "127.0.0.1",
                pair.ours().ipv4().replaceAll("\\d+$", "255"), "255.255.255.255", "224.0.0.1");
        try (SegmentsOnWire wire = new SegmentsOnWire(pair.peer());
                ForgedSegments forged = new ForgedSegments(pair.peer(), mac)) {
            for (String address : foreign) {
                forged.send(syn(address, port, clientPort++));
                // A segment without a connection to a foreign address must not be answered with a reset either.
                forged.send(syn(address, port + 1, clientPort++).flags(TcpFlags.ACK));
            }
            int last = clientPort;
            forged.send(syn(ours, port, last));
            forged.flush();
            List<SegmentsOnWire.Seen> seen = wire.until(Await.PATIENCE, segment -> segment.destinationPort() == last);
            // The last ACK of an earlier connection may still arrive.
            List<SegmentsOnWire.Seen> answers = seen.stream()
                    .filter(each -> each.destinationPort() >= FIRST_FORGED_PORT && each.destinationPort() <= last)
                    .toList();
            assertTrue(answers.getLast().has(TcpFlags.SYN));
            assertEquals(1, answers.size(), () -> "answers were " + answers);
        }
    }

    private Segment syn(String address, int port, int clientPort) {
        return new Segment().source(0, ForgedSegments.mapped(clientAddress), clientPort)
                .destination(0, ForgedSegments.mapped(address), port).seq(1_000).flags(TcpFlags.SYN).window(65535)
                .mss(1460);
    }

    @ParameterizedTest
    @ValueSource(strings = {"xdp", "packet"})
    void foreignAddressesAreNotAnswered(String provider) throws Exception {
        int port = portOf(serve(provider, "0.0.0.0", 0));
        clientAddress = pair.peer().ipv4();
        assertOnlyOursAnswers(pair.ours().mac(), pair.ours().ipv4(), port);
    }

    private RdmaRawIoHandlerConfig.Builder ownHost() {
        clients.run("ip", "addr", "add", OWN_GATEWAY + "/24", "dev", pair.peer().name());
        clientAddress = OWN_GATEWAY;
        return config("xdp").userspaceAddress(OWN_MAC, OWN_ADDRESS + "/24", OWN_GATEWAY)
                .detectDuplicateAddresses(false);
    }

    @Test
    void userspaceHostDoesNotAnswerForForeignAddresses() throws Exception {
        int port = portOf(serve(ownHost(), "0.0.0.0", 0));
        assertEquals(OURS, greeting(OWN_ADDRESS, port));
        assertOnlyOursAnswers(OWN_MAC, OWN_ADDRESS, port);
    }

    @Test
    void userspaceHostDoesNotAnswerDatagramsToForeignAddresses() throws Exception {
        group = new RdmaRawEventLoopGroup(1, host.threadFactory(), ownHost().build());
        Channel echo = new Bootstrap().group(group).channel(RdmaRawDatagramChannel.class)
                .handler(new SimpleChannelInboundHandler<DatagramPacket>() {
                    @Override
                    protected void channelRead0(ChannelHandlerContext ctx, DatagramPacket packet) {
                        ctx.writeAndFlush(new DatagramPacket(packet.content().retain(), packet.sender()));
                    }
                }).bind(new InetSocketAddress(InetAddress.ofLiteral("0.0.0.0"), 0)).sync().channel();
        clients.run("ip", "neigh", "add", "203.0.113.99", "lladdr", OWN_MAC, "dev", pair.peer().name());
        String answer = clients.call(() -> {
            try (DatagramSocket socket = new DatagramSocket()) {
                socket.setSoTimeout(LIMIT_MILLIS);
                for (String target : new String[] {"203.0.113.99", OWN_ADDRESS}) {
                    byte[] text = target.getBytes(CharsetUtil.US_ASCII);
                    socket.send(new java.net.DatagramPacket(text, text.length,
                            new InetSocketAddress(InetAddress.ofLiteral(target), portOf(echo))));
                }
                java.net.DatagramPacket received = new java.net.DatagramPacket(new byte[64], 64);
                socket.receive(received);
                return new String(received.getData(), 0, received.getLength(), CharsetUtil.US_ASCII);
            }
        });
        assertEquals(OWN_ADDRESS, answer);
    }

    @Test
    void rulesFollowAddressChanges() throws Exception {
        int port = portOf(serve("xdp", "0.0.0.0", 0));
        host.run("sysctl", "-qw", "net.ipv4.ip_forward=1");
        host.run("ip", "route", "add", "unreachable", "198.51.100.0/24");
        clients.run("ip", "route", "add", ADDED, "via", pair.ours().ipv4());
        host.run("ip", "addr", "add", ADDED + "/32", "dev", pair.ours().name());
        // The kernel answers until the loops have been notified of the address.
        Await.until("the device to serve the new address", () -> {
            long before = tcp("accepted.connections");
            return OURS.equals(greetingOrReason(ADDED, port)) && tcp("accepted.connections") > before;
        });
        host.run("ip", "addr", "del", ADDED + "/32", "dev", pair.ours().name());
        Await.until("nobody to serve the old address", () -> !OURS.equals(greetingOrReason(ADDED, port)));
        assertEquals(OURS, greeting(pair.ours().ipv4(), port));
        host.run("ip", "link", "set", pair.ours().name(), "address", "02:00:00:0a:00:77");
        clients.run("ip", "neigh", "replace", pair.ours().ipv4(), "lladdr", "02:00:00:0a:00:77", "dev",
                pair.peer().name());
        Await.until("the device to serve the new MAC address", () -> {
            long before = tcp("accepted.connections");
            return OURS.equals(greetingOrReason(pair.ours().ipv4(), port)) && tcp("accepted.connections") > before;
        });
    }

    /** If the device has no room for a rule, the kernel serves the address. */
    @Test
    void addressesWithoutARuleAreServedByTheKernel() throws Exception {
        int port = portOf(serve("xdp", "0.0.0.0", 0));
        clients.run("ip", "route", "add", ADDED, "via", pair.ours().ipv4());
        SharedDevice shared = SharedDevice.acquire(device);
        try {
            SoftverbsFaults.of(shared.context()).setFlowCapacity(1);
            host.run("ip", "addr", "add", ADDED + "/32", "dev", pair.ours().name());
            Await.until("the address without a rule to be counted", () -> tcp("unsteered-addresses") == 1);
            assertEquals(OURS, greeting(ADDED, port));
            assertEquals(1, tcp("kernel.connections"));
            assertEquals(OURS, greeting(pair.ours().ipv4(), port));
            assertEquals(1, tcp("accepted.connections"));
            host.run("ip", "addr", "del", ADDED + "/32", "dev", pair.ours().name());
            Await.until("the address to be forgotten", () -> tcp("unsteered-addresses") == 0);
        } finally {
            shared.release();
        }
    }

    /**
     * If an address is replaced by another, its rule is replaced too, even on a device without room for one more.
     */
    @Test
    void removedAddressFreesItsRule() throws Exception {
        host.run("sysctl", "-qw", "net.ipv6.conf." + pair.ours().name() + ".disable_ipv6=1");
        clients.run("ip", "route", "add", "198.51.100.0/24", "via", pair.ours().ipv4());
        host.run("ip", "addr", "add", ADDED + "/32", "dev", pair.ours().name());
        int port = portOf(serve("xdp", "0.0.0.0", 0));
        SharedDevice shared = SharedDevice.acquire(device);
        try {
            SoftverbsFaults.of(shared.context()).setFlowCapacity(2);
            host.run("ip", "addr", "add", NEXT + "/32", "dev", pair.ours().name());
            Await.until("the address without a rule to be counted", () -> tcp("unsteered-addresses") == 1);
            host.run("ip", "addr", "del", ADDED + "/32", "dev", pair.ours().name());
            Await.until("the address to have the rule of the other", () -> tcp("unsteered-addresses") == 0);
            assertEquals(OURS, greeting(NEXT, port));
            assertEquals(1, tcp("accepted.connections"));
        } finally {
            shared.release();
        }
    }

    /** Servers that share a port also create fewer rules if the device has no room. */
    @Test
    void kernelServesSharedPortIfThereIsNoRoomForRules() throws Exception {
        serve("xdp", pair.ours().ipv4(), 0);
        SharedDevice shared = SharedDevice.acquire(device);
        try {
            SoftverbsFaults.of(shared.context()).setFlowCapacity(2);
            int port = portOf(new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                    .option(RdmaRawChannelOption.SO_REUSEPORT, true).childHandler(new Greeter())
                    .bind(new InetSocketAddress(InetAddress.ofLiteral("::"), 0)).sync().channel());
            assertTrue(tcp("unsteered-addresses") > 0);
            assertEquals(OURS, greeting(pair.ours().ipv4(), port));
            assertEquals(OURS, greeting(pair.ours().ipv6(), port));
            assertEquals(2, tcp("accepted.connections") + tcp("kernel.connections"));
            assertTrue(tcp("kernel.connections") > 0);
        } finally {
            shared.release();
        }
    }

    private String greetingOrReason(String address, int port) {
        try {
            return greeting(address, port);
        } catch (Exception e) {
            return e.toString();
        }
    }
}
