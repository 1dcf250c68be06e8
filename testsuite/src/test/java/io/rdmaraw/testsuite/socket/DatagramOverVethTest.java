package io.rdmaraw.testsuite.socket;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.IoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.DatagramPacket;
import io.netty.util.CharsetUtil;
import io.netty.util.ReferenceCountUtil;
import io.rdmaraw.channel.RdmaRawChannelOption;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.faults.SoftverbsFaults;
import io.rdmaraw.queue.SharedDevice;
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

import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.MulticastSocket;
import java.net.NetworkInterface;
import java.net.NoRouteToHostException;
import java.net.PortUnreachableException;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Datagram channels on a veth interface with the kernel's addresses. The peer is the Linux kernel. */
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class DatagramOverVethTest {
    private TestNetwork network;
    private NetworkNamespace host;
    private VethPair pair;
    private IoEventLoopGroup group;
    private final BlockingQueue<DatagramPacket> received = new LinkedBlockingQueue<>();
    private final BlockingQueue<Throwable> errors = new LinkedBlockingQueue<>();

    @BeforeEach
    void open(TestNetwork network) {
        this.network = network;
        host = network.namespace();
        pair = network.vethPair(host, network.namespace());
        // Solicitations that no packet triggers are sent from a link-local address.
        host.run("ip", "-6", "addr", "add", "fe80::1/64", "dev", pair.ours().name(), "nodad");
        group = new RdmaRawEventLoopGroup(1, host.threadFactory(),
                RdmaRawIoHandlerConfig.builder().device(provider() + pair.ours().name()).build());
    }

    @AfterEach
    void close() {
        received.forEach(ReferenceCountUtil::release);
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private final class Inbox extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            received.add((DatagramPacket) msg);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            errors.add(cause);
        }
    }

    private RdmaRawDatagramChannel bind(SocketAddress local) throws InterruptedException {
        return (RdmaRawDatagramChannel) new Bootstrap().group(group).channel(RdmaRawDatagramChannel.class)
                .option(ChannelOption.SO_RCVBUF, 1 << 20).handler(new Inbox()).bind(local).sync().channel();
    }

    private DatagramSocket peerSocket(String address) throws Exception {
        DatagramSocket socket = pair.peer().namespace().call(() ->
                new DatagramSocket(new InetSocketAddress(InetAddress.ofLiteral(address), 0)));
        socket.setSoTimeout(Await.PATIENCE_MILLIS);
        return socket;
    }

    private static void send(DatagramSocket socket, String text, InetSocketAddress to) throws Exception {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        socket.send(new java.net.DatagramPacket(bytes, bytes.length, to));
    }

    private static String receive(DatagramSocket socket) throws Exception {
        java.net.DatagramPacket packet = new java.net.DatagramPacket(new byte[65535], 65535);
        socket.receive(packet);
        return new String(packet.getData(), 0, packet.getLength(), StandardCharsets.US_ASCII);
    }

    private DatagramPacket take() throws InterruptedException {
        DatagramPacket packet = received.poll(Await.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
        assertNotNull(packet, "no datagram came");
        return packet;
    }

    private String takeText() throws InterruptedException {
        DatagramPacket packet = take();
        String text = packet.content().toString(CharsetUtil.US_ASCII);
        packet.release();
        return text;
    }

    private static ByteBuf text(String text) {
        return Unpooled.copiedBuffer(text, CharsetUtil.US_ASCII);
    }

    private static InetSocketAddress at(String address, int port) {
        return new InetSocketAddress(InetAddress.ofLiteral(address), port);
    }

    /**
     * Waits for the end of the loop's current round. The loop updates its counters after sending, so a reply can arrive
     * earlier.
     */
    private static void endTheRound(RdmaRawDatagramChannel channel) throws InterruptedException {
        channel.eventLoop().submit(() -> { }).sync();
    }

    /** The server's replies wait until the peer's MAC address is resolved. */
    @Test
    void answersAKernelClient() throws Exception {
        RdmaRawDatagramChannel server = bind(new InetSocketAddress(0));
        int port = server.localAddress().getPort();
        String[][] ends = {{pair.ours().ipv4(), pair.peer().ipv4()}, {pair.ours().ipv6(), pair.peer().ipv6()}};
        for (String[] end : ends) {
            try (DatagramSocket client = peerSocket(end[1])) {
                for (int i = 0; i < 100; i++) {
                    send(client, "question " + i, at(end[0], port));
                    DatagramPacket question = take();
                    assertEquals(client.getLocalSocketAddress(), question.sender());
                    server.writeAndFlush(new DatagramPacket(question.content(), question.sender())).sync();
                    assertEquals("question " + i, receive(client));
                }
            }
        }
        endTheRound(server);
        assertEquals(200, server.statistics().receivedDatagrams());
        assertEquals(0, server.statistics().receivedByKernel(), "all of them came by the device");
        assertEquals(0, server.statistics().sentByKernel());
        assertEquals(200, server.statistics().sentDatagrams());
    }

    @Test
    void longDatagramsGoBothWays() throws Exception {
        RdmaRawDatagramChannel server = bind(at(pair.ours().ipv4(), 0));
        String longText = "0123456789".repeat(2000);
        try (DatagramSocket client = peerSocket(pair.peer().ipv4())) {
            send(client, longText, server.localAddress());
            DatagramPacket question = take();
            assertEquals(longText, question.content().toString(CharsetUtil.US_ASCII));
            server.writeAndFlush(new DatagramPacket(question.content(), question.sender())).sync();
            assertEquals(longText, receive(client));
        }
        endTheRound(server);
        assertEquals(1, server.statistics().receivedByKernel(), "fragments match no rule and reach the kernel");
        assertEquals(14, server.statistics().sentFragments());
    }

    @Test
    void aPortThatThePeerDoesNotHave() throws Exception {
        RdmaRawDatagramChannel client = bind(new InetSocketAddress(0));
        client.connect(at(pair.peer().ipv4(), 9)).sync();
        assertEquals(pair.ours().ipv4(), client.localAddress().getAddress().getHostAddress());
        client.writeAndFlush(text("anybody?")).sync();
        assertInstanceOf(PortUnreachableException.class, errors.poll(Await.PATIENCE_MILLIS, TimeUnit.MILLISECONDS));
        assertTrue(client.isOpen());
    }

    /** A router with a prohibit route rejects the datagrams by ICMP 3/13 or ICMPv6 1/1. */
    @Test
    void connectedChannelReportsThatAFilterRejectsItsDatagrams() throws Exception {
        NetworkNamespace router = pair.peer().namespace();
        router.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1");
        String[][] routes = {{"198.51.100.0/24", pair.peer().ipv4()}, {"2001:db8:f::/48", pair.peer().ipv6()}};
        for (String[] route : routes) {
            router.run("ip", "route", "add", "prohibit", route[0]);
            host.run("ip", "route", "add", route[0], "via", route[1]);
        }
        for (String rejected : new String[] {"198.51.100.7", "2001:db8:f::7"}) {
            RdmaRawDatagramChannel client = bind(new InetSocketAddress(0));
            client.connect(at(rejected, 9)).sync();
            client.writeAndFlush(text("may I?")).sync();
            assertInstanceOf(NoRouteToHostException.class,
                    errors.poll(Await.PATIENCE_MILLIS, TimeUnit.MILLISECONDS), rejected);
            assertTrue(client.isOpen());
        }
    }

    @Test
    void clientsOnTheSameHostReachTheServer() throws Exception {
        RdmaRawDatagramChannel server = bind(new InetSocketAddress(0));
        int port = server.localAddress().getPort();
        for (String address : new String[] {"127.0.0.1", pair.ours().ipv4(), "::1", pair.ours().ipv6()}) {
            try (DatagramSocket client = host.call(() -> new DatagramSocket())) {
                client.setSoTimeout(Await.PATIENCE_MILLIS);
                send(client, "local", at(address, port));
                DatagramPacket question = take();
                server.writeAndFlush(new DatagramPacket(question.content(), question.sender())).sync();
                assertEquals("local", receive(client), address);
            }
        }
        assertEquals(4, server.statistics().receivedByKernel());
    }

    /** Two loops share a port. The device distributes the clients over them, and each loop answers its own clients. */
    @Test
    void loopsShareAPort() throws Exception {
        IoEventLoopGroup two = new RdmaRawEventLoopGroup(2, host.threadFactory(),
                RdmaRawIoHandlerConfig.builder().device(provider() + pair.ours().name()).build());
        try {
            Bootstrap bootstrap = new Bootstrap().group(two).channel(RdmaRawDatagramChannel.class)
                    .option(RdmaRawChannelOption.SO_REUSEPORT, true).handler(new Echo());
            RdmaRawDatagramChannel first = (RdmaRawDatagramChannel) bootstrap.bind(0).sync().channel();
            int port = first.localAddress().getPort();
            RdmaRawDatagramChannel second = (RdmaRawDatagramChannel) bootstrap.bind(port).sync().channel();
            assertNotSame(first.eventLoop(), second.eventLoop());
            String[][] ends = {{pair.ours().ipv4(), pair.peer().ipv4()}, {pair.ours().ipv6(), pair.peer().ipv6()}};
            for (int i = 0; i < 64; i++) {
                String[] end = ends[i % 2];
                try (DatagramSocket client = peerSocket(end[1])) {
                    send(client, "question " + i, at(end[0], port));
                    assertEquals("question " + i, receive(client));
                    send(client, "again " + i, at(end[0], port));
                    assertEquals("again " + i, receive(client));
                }
            }
            endTheRound(first);
            endTheRound(second);
            long atFirst = first.statistics().receivedDatagrams();
            long atSecond = second.statistics().receivedDatagrams();
            assertEquals(128, atFirst + atSecond);
            assertTrue(atFirst >= 16 && atSecond >= 16, atFirst + " and " + atSecond + " of 64 clients' datagrams");
            assertTrue(atFirst % 2 == 0, "a client stays with its channel");
            assertEquals(0, first.statistics().receivedByKernel() + second.statistics().receivedByKernel());
        } finally {
            two.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    @ChannelHandler.Sharable
    private static final class Echo extends SimpleChannelInboundHandler<DatagramPacket> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, DatagramPacket packet) {
            ctx.writeAndFlush(new DatagramPacket(packet.content().retain(), packet.sender()));
        }
    }

    /**
     * Joins groups for all sources and for one source; the peer's kernel sends from two. Replaces Netty's
     * DatagramMulticastTest and DatagramMulticastIPv6Test. They use one NetworkInterface for both ends, so they cannot
     * run between namespaces. They run on the loop device instead.
     */
    @Test
    void groupsAreJoinedForAllSourcesOrForOne() throws Exception {
        pair.peer().namespace().run("ip", "addr", "add", "198.51.100.7/24", "dev", pair.peer().name());
        RdmaRawDatagramChannel member = bind(new InetSocketAddress(0));
        int port = member.localAddress().getPort();
        NetworkInterface link = host.call(() -> NetworkInterface.getByName(pair.ours().name()));
        NetworkInterface peerLink = pair.peer().namespace().call(() -> NetworkInterface.getByName(pair.peer().name()));
        for (String group : new String[] {"239.7.7.7", "ff15::777"}) {
            boolean ipv4 = group.indexOf(':') < 0;
            try (MulticastSocket wanted = groupSender(ipv4 ? pair.peer().ipv4() : pair.peer().ipv6(), peerLink);
                    MulticastSocket other = ipv4 ? groupSender("198.51.100.7", peerLink) : null) {
                member.joinGroup(at(group, port), link).sync();
                assertTrue(host.run("ip", "maddress", "show", "dev", pair.ours().name()).output().contains(group));
                send(wanted, "for all", at(group, port));
                assertEquals("for all", takeText());
                member.leaveGroup(at(group, port), link).sync();
                send(wanted, "missed", at(group, port));
                member.joinGroup(at(group, port).getAddress(), link, InetAddress.ofLiteral(
                        ipv4 ? pair.peer().ipv4() : pair.peer().ipv6())).sync();
                if (other != null) {
                    send(other, "not from there", at(group, port));
                }
                send(wanted, "from the source", at(group, port));
                assertEquals("from the source", takeText());
                member.leaveGroup(at(group, port).getAddress(), link, InetAddress.ofLiteral(
                        ipv4 ? pair.peer().ipv4() : pair.peer().ipv6())).sync();
                assertFalse(host.run("ip", "maddress", "show", "dev", pair.ours().name()).output().contains(group));
            }
        }
        assertEquals(0, member.statistics().receivedByKernel(), "all came by the device");
    }

    private MulticastSocket groupSender(String address, NetworkInterface link) throws Exception {
        MulticastSocket socket = pair.peer().namespace().call(() -> new MulticastSocket(
                new InetSocketAddress(InetAddress.ofLiteral(address), 0)));
        socket.setNetworkInterface(link);
        return socket;
    }

    @Test
    void kernelOfThePeerReceivesDatagramsToAGroup() throws Exception {
        RdmaRawDatagramChannel sender = bind(new InetSocketAddress(0));
        NetworkInterface peerLink = pair.peer().namespace().call(() -> NetworkInterface.getByName(pair.peer().name()));
        for (String group : new String[] {"239.7.7.8", "ff15::778"}) {
            try (MulticastSocket member = pair.peer().namespace().call(() -> new MulticastSocket(0))) {
                member.setSoTimeout(Await.PATIENCE_MILLIS);
                member.joinGroup(at(group, 0), peerLink);
                sender.writeAndFlush(new DatagramPacket(text("to all"), at(group, member.getLocalPort()))).sync();
                assertEquals("to all", receive(member));
            }
        }
    }

    /** A router reports a smaller path MTU by ICMPv6 (RFC 8201). The channel fragments later datagrams. */
    @Test
    void longDatagramsFitNarrowPaths() throws Exception {
        NetworkNamespace router = pair.peer().namespace();
        NetworkNamespace far = network.namespace();
        VethPair second = network.vethPair(router, far);
        second.ours().setMtu(1300);
        second.peer().setMtu(1300);
        router.run("sysctl", "-qw", "net.ipv6.conf.all.forwarding=1");
        // Routers solicit neighbours from link-local addresses.
        router.run("ip", "-6", "addr", "add", "fe80::2/64", "dev", pair.peer().name(), "nodad");
        router.run("ip", "-6", "addr", "add", "fe80::2/64", "dev", second.ours().name(), "nodad");
        far.run("ip", "-6", "addr", "add", "fe80::3/64", "dev", second.peer().name(), "nodad");
        host.run("ip", "-6", "route", "add", second.peer().ipv6() + "/128", "via", pair.peer().ipv6());
        far.run("ip", "-6", "route", "add", pair.ours().ipv6() + "/128", "via", second.ours().ipv6());
        KnownRoutes.await(host, second.peer().ipv6());
        RdmaRawDatagramChannel channel = bind(new InetSocketAddress(0));
        String text = "0123456789".repeat(140);
        try (DatagramSocket socket = far.call(() -> new DatagramSocket(
                new InetSocketAddress(InetAddress.ofLiteral(second.peer().ipv6()), 0)))) {
            socket.setSoTimeout(200);
            String answer = null;
            for (int i = 0; i < 100 && answer == null; i++) {
                channel.writeAndFlush(new DatagramPacket(text(text),
                        (InetSocketAddress) socket.getLocalSocketAddress())).sync();
                try {
                    answer = receive(socket);
                } catch (SocketTimeoutException e) {
                    // The router rejects the first datagrams.
                }
            }
            assertTrue(text.equals(answer), "no answer, or not the same one");
            endTheRound(channel);
            assertTrue(channel.statistics().sentFragments() >= 2);
        }
    }

    /** The channel recovers after its neighbour entry, and later its address, was deleted. */
    @Test
    void channelRecoversFromDeletedNeighborAndAddress() throws Exception {
        RdmaRawDatagramChannel server = bind(new InetSocketAddress(0));
        int port = server.localAddress().getPort();
        try (DatagramSocket client = peerSocket(pair.peer().ipv4())) {
            assertAnswers(server, client, port);
            // Entries are deleted one by one: {@code ip neigh flush} fails if a deleted entry is created again at once.
            host.run("ip", "neigh", "del", pair.peer().ipv4(), "dev", pair.ours().name());
            assertAnswers(server, client, port);
            host.run("ip", "addr", "del", pair.ours().ipv4() + "/28", "dev", pair.ours().name());
            host.run("ip", "addr", "add", pair.ours().ipv4() + "/28", "dev", pair.ours().name());
            assertAnswers(server, client, port);
        }
    }

    private void assertAnswers(RdmaRawDatagramChannel server, DatagramSocket client, int port) throws Exception {
        client.setSoTimeout(500);
        for (int i = 0; i < 60; i++) {
            send(client, "still there?", at(pair.ours().ipv4(), port));
            DatagramPacket question = received.poll(500, TimeUnit.MILLISECONDS);
            if (question == null) {
                // The loop has dropped it, because it does not know the address again yet.
                continue;
            }
            server.writeAndFlush(new DatagramPacket(question.content(), question.sender()));
            try {
                assertEquals("still there?", receive(client));
                return;
            } catch (SocketTimeoutException e) {
                // The change is not known yet.
            }
        }
        throw new AssertionError("no answer came");
    }

    @Test
    void aFullRuleTableLeavesReceivingToTheKernel() throws Exception {
        bind(new InetSocketAddress(0)).close().sync();
        SharedDevice device = SharedDevice.acquire(provider() + pair.ours().name());
        try (DatagramSocket client = peerSocket(pair.peer().ipv4())) {
            SoftverbsFaults.of(device.context()).setFlowCapacity(1);
            RdmaRawDatagramChannel connected = bind(at(pair.ours().ipv4(), 0));
            connected.connect((InetSocketAddress) client.getLocalSocketAddress()).sync();
            RdmaRawDatagramChannel late = bind(at(pair.ours().ipv4(), 0));
            assertTrue(late.statistics().isCoarselySteered());
            for (RdmaRawDatagramChannel channel : new RdmaRawDatagramChannel[] {connected, late}) {
                send(client, "question", channel.localAddress());
                DatagramPacket question = take();
                channel.writeAndFlush(new DatagramPacket(question.content(), question.sender())).sync();
                assertEquals("question", receive(client));
            }
            assertEquals(1, late.statistics().receivedByKernel());
            assertEquals(0, late.statistics().sentByKernel());
        } finally {
            device.release();
        }
    }

    /** The peer's MAC address changes, as in a failover to a standby. */
    @Test
    void followsANeighborThatMoves() throws Exception {
        RdmaRawDatagramChannel server = bind(at(pair.ours().ipv4(), 0));
        try (DatagramSocket client = peerSocket(pair.peer().ipv4())) {
            server.writeAndFlush(new DatagramPacket(text("before"), (InetSocketAddress) client.getLocalSocketAddress()))
                    .sync();
            assertEquals("before", receive(client));
            pair.peer().namespace().run("ip", "link", "set", pair.peer().name(), "address", "02:00:00:00:77:77");
            host.run("ip", "neigh", "replace", pair.peer().ipv4(), "lladdr", "02:00:00:00:77:77", "dev",
                    pair.ours().name());
            client.setSoTimeout(100);
            String answer = null;
            for (int i = 0; i < 600 && answer == null; i++) {
                server.writeAndFlush(new DatagramPacket(text("after"),
                        (InetSocketAddress) client.getLocalSocketAddress())).sync();
                try {
                    answer = receive(client);
                } catch (SocketTimeoutException e) {
                    // The notification has not arrived yet.
                }
            }
            assertEquals("after", answer);
        }
    }

    /** Returns the prefix of the device name; the interface's name follows it. */
    String provider() {
        return "soft:packet:";
    }

    /**
     * The datagrams go by an interface without the device. The kernel holds them, and thus fills its send buffer, until
     * the neighbor answers.
     */
    @Test
    void writesWaitForRoomInTheKernelsSendBuffer() throws Exception {
        VethPair other = network.vethPair(host, network.namespace());
        NetworkNamespace peer = other.peer().namespace();
        String address = other.peer().ipv4();
        peer.run("ip", "addr", "flush", "dev", other.peer().name());
        host.run("ip", "neigh", "flush", "dev", other.ours().name());
        host.run("sysctl", "-qw", "net.ipv4.neigh." + other.ours().name() + ".unres_qlen_bytes=100000000");
        host.run("sysctl", "-qw", "net.ipv4.neigh." + other.ours().name() + ".mcast_solicit=60");
        RdmaRawDatagramChannel channel = bind(new InetSocketAddress(0));
        List<ChannelFuture> writes = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            writes.add(channel.writeAndFlush(new DatagramPacket(text("x".repeat(1400)), at(address, 9))));
        }
        channel.eventLoop().submit(() -> { }).sync();
        assertTrue(writes.getFirst().isSuccess());
        assertFalse(writes.getLast().isDone(), () -> "the last write: " + writes.getLast().cause());
        peer.run("ip", "addr", "add", address + "/24", "dev", other.peer().name());
        for (ChannelFuture write : writes) {
            write.sync();
        }
    }
}
