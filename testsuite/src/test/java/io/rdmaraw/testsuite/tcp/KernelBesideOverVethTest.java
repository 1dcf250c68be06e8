package io.rdmaraw.testsuite.tcp;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.CharsetUtil;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.metrics.RdmaRawQueueStatistics;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpFlags;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import io.rdmaraw.wire.Ipv4Header;
import io.rdmaraw.wire.Ipv6Header;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Predicate;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

/**
 * Tests segments of this transport's connections that also reach the kernel: as fragments, or because the device
 * cannot withhold them from it.
 */
@Timeout(120)
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class KernelBesideOverVethTest {
    private static final int LIMIT_MILLIS = 30_000;
    private static final int UPLOAD_BYTES = 200_000;
    private static final int NARROW_MTU = 1000;
    private static final int STARTING_PORT = 8099;

    private TestNetwork network;
    private NetworkNamespace host;
    private VethPair pair;
    private String device;
    private RdmaRawEventLoopGroup group;

    @Sharable
    private static final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ctx.write(msg);
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }

    @BeforeEach
    void open(TestNetwork made) {
        network = made;
        host = network.namespace();
    }

    @AfterEach
    void close() {
        if (group != null) {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private void openGroup(String provider) {
        device = "soft:" + provider + ':' + pair.ours().name();
        group = new RdmaRawEventLoopGroup(2, host.threadFactory(),
                RdmaRawIoHandlerConfig.builder().device(device).build());
    }

    /**
     * While the rules are being created, the kernel already listens. A connection that it accepted then would
     * stop working once the rules are in place.
     */
    @ParameterizedTest
    @ValueSource(strings = {"xdp", "packet"})
    void startingServerResetsNoConnection(String provider) throws Exception {
        pair = network.vethPair(host, network.namespace());
        openGroup(provider);
        String address = pair.ours().ipv4();
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch bound = new CountDownLatch(1);
        FutureTask<Integer> client = new FutureTask<>(() -> pair.peer().namespace().call(() -> {
            // The connection is refused until the port is bound, and served from then on.
            int refused = 0;
            while (true) {
                try (Socket socket = new Socket()) {
                    socket.connect(new InetSocketAddress(address, STARTING_PORT), LIMIT_MILLIS);
                    bound.await();
                    socket.setSoTimeout(LIMIT_MILLIS);
                    socket.getOutputStream().write(1);
                    assertEquals(1, socket.getInputStream().read());
                    return refused;
                } catch (ConnectException e) {
                    refused++;
                    asked.countDown();
                }
            }
        }));
        Thread.ofPlatform().daemon().start(client);
        asked.await();
        new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class).childHandler(new Echo())
                .bind(new InetSocketAddress(InetAddress.ofLiteral(address), STARTING_PORT)).sync();
        bound.countDown();
        assertTrue(client.get(LIMIT_MILLIS, TimeUnit.MILLISECONDS) > 0);
    }

    private int serve(String address) throws InterruptedException {
        Channel server = new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new Echo()).bind(new InetSocketAddress(InetAddress.ofLiteral(address), 0)).sync()
                .channel();
        return ((InetSocketAddress) server.localAddress()).getPort();
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

    /** Connects a kernel client, which sends data, checks the echo and closes. */
    private static void exchange(NetworkNamespace client, String address, int port, int bytes) throws Exception {
        try (Socket socket = unconnected(client)) {
            exchange(socket, address, port, bytes);
        }
    }

    /** A socket belongs to the namespace in which it is created, not to that of the connecting thread. */
    private static Socket unconnected(NetworkNamespace client) throws Exception {
        return client.call(() -> {
            Socket socket = new Socket();
            socket.setReuseAddress(true);
            return socket;
        });
    }

    private static void exchange(Socket socket, String address, int port, int bytes) throws Exception {
        byte[] sent = new byte[bytes];
        new Random(bytes).nextBytes(sent);
        socket.setSoTimeout(LIMIT_MILLIS);
        socket.connect(new InetSocketAddress(InetAddress.ofLiteral(address), port), LIMIT_MILLIS);
        Thread writer = Thread.ofPlatform().daemon().start(() -> {
            try {
                socket.getOutputStream().write(sent);
            } catch (IOException e) {
                // The reading thread reports this error too.
            }
        });
        byte[] received = socket.getInputStream().readNBytes(bytes);
        writer.join();
        assertTrue(Arrays.equals(sent, received), () -> received.length + " bytes came back, the first that differs is "
                + Arrays.mismatch(sent, received));
    }

    /**
     * Sets the environment variable for {@code soft:packet:} devices, which softverbs reads when it opens a
     * device.
     */
    @SuppressWarnings("restricted")
    private static void setPacketQuiet(String how) throws Throwable {
        MethodHandle setenv = Linker.nativeLinker().downcallHandle(
                Linker.nativeLinker().defaultLookup().findOrThrow("setenv"),
                FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_INT));
        try (Arena arena = Arena.ofConfined()) {
            assertEquals(0, (int) setenv.invokeExact(arena.allocateFrom("SOFTVERBS_PACKET_QUIET"),
                    arena.allocateFrom(how), 1));
        }
    }

    /** Simulates CAP_NET_RAW without other capabilities: the kernel sees all frames. */
    @Test
    void kernelSendsNoResetsIfItSeesAllFrames() throws Throwable {
        pair = network.vethPair(host, network.namespace());
        setPacketQuiet("sockets");
        try {
            openGroup("packet");
            int wildcard = serve("::");
            int ofOneAddress = serve(pair.ours().ipv4());
            for (int i = 0; i < 5; i++) {
                exchange(pair.peer().namespace(), pair.ours().ipv4(), wildcard, 20_000);
                exchange(pair.peer().namespace(), pair.ours().ipv6(), wildcard, 20_000);
                exchange(pair.peer().namespace(), pair.ours().ipv4(), ofOneAddress, 20_000);
                exchange(host, "127.0.0.1", wildcard, 20_000);
            }
            assertEquals(5, tcp("kernel.connections"));
            connectFiveTimes();
            assertEquals(0, tcp("resets.received"));
        } finally {
            setPacketQuiet("");
        }
    }

    /** The client is behind a router, which fragments its packets for the narrow link to the server. */
    @ParameterizedTest
    @ValueSource(strings = {"xdp", "packet"})
    void fragmentedUploadArrives(String provider) throws Exception {
        NetworkNamespace router = network.namespace();
        pair = network.vethPair(host, router);
        VethPair far = network.vethPair(router, network.namespace());
        NetworkNamespace client = far.peer().namespace();
        router.run("sysctl", "-qw", "net.ipv4.ip_forward=1");
        // Sets the MTU on the route. An MTU on the interface would drop full-sized responses.
        router.run("ip", "route", "add", pair.ours().ipv4(), "dev", pair.peer().name(), "mtu", "lock",
                Integer.toString(NARROW_MTU));
        client.run("sysctl", "-qw", "net.ipv4.ip_no_pmtu_disc=1");
        client.run("ip", "route", "add", pair.ours().ipv4(), "via", far.ours().ipv4());
        host.run("ip", "route", "add", far.peer().ipv4(), "via", pair.peer().ipv4());
        openGroup(provider);
        int port = serve("0.0.0.0");
        List<Socket> sockets = new ArrayList<>();
        try {
            for (int i = 0; i < 4; i++) {
                sockets.add(unconnected(client));
                exchange(sockets.getLast(), pair.ours().ipv4(), port, UPLOAD_BYTES);
            }
            assertTrue(tcp("kernel.segments") >= 4 * UPLOAD_BYTES / 1460, "segments came in fragments");
            assertEquals(0, tcp("kernel.connections"));
            assertEquals(0, tcp("resets.received"));
            // Checked while all connections are open: after its FIN, a client's retransmission may arrive through
            // the kernel.
            assertEquals(0, tcp("resets.sent"));
        } finally {
            for (Socket socket : sockets) {
                socket.close();
            }
        }
    }

    /** The kernel passes reassembled segments on, and its own listener does not answer them. */
    @Test
    void fragmentedSegmentsOpenAndServeConnections() throws Exception {
        dialogue("10.222.0.9", "10.222.0.1", KernelBesideOverVethTest::inFragments);
    }

    /**
     * The headers are hop-by-hop options, destination options, and the fragment header of an unfragmented packet
     * (RFC 8200, RFC 6946).
     */
    @ParameterizedTest
    @ValueSource(ints = {0, 60, 44})
    void segmentsBehindExtensionHeadersOpenAndServeConnections(int header) throws Exception {
        dialogue("fd00:222::9", "fd00:222::1", packet -> List.of(behind(header, packet)));
    }

    /**
     * RFC 1122 section 3.3.6: TCP ignores segments in link-layer broadcast or multicast frames, even with a unicast IP
     * destination. No flow rule matches such a frame, so the kernel receives it. No TCP may answer it.
     */
    @ParameterizedTest
    @ValueSource(strings = {"ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "33:33:00:00:00:01"})
    void segmentsInMulticastFramesOpenNoConnection(String mac) throws Exception {
        pair = network.vethPair(host, network.namespace());
        boolean ipv6 = mac.startsWith("33:33");
        openGroup("xdp");
        String server = ipv6 ? pair.ours().ipv6() : pair.ours().ipv4();
        int port = serve(server);
        String client = ipv6 ? pair.peer().ipv6() : pair.peer().ipv4();
        host.run("ip", "neigh", "replace", client, "lladdr", pair.peer().mac(), "dev", pair.ours().name());
        IpAddress from = IpAddress.parse(client);
        IpAddress to = IpAddress.parse(server);
        Segment segment = new Segment().source(from.high(), from.low(), 40_000)
                .destination(to.high(), to.low(), port).window(65535).seq(1_000).flags(TcpFlags.SYN).mss(1220);
        try (SegmentsOnWire wire = new SegmentsOnWire(pair.peer());
                ForgedSegments toMany = new ForgedSegments(pair.peer(), mac);
                ForgedSegments toOne = new ForgedSegments(pair.peer(), pair.ours())) {
            toMany.send(ForgedSegments.packet(segment));
            // This segment also passes through the kernel, after the other one.
            segment.sourcePort = 40_001;
            byte[] last = ForgedSegments.packet(segment);
            (ipv6 ? List.of(behind(60, last)) : inFragments(last)).forEach(toOne::send);
            List<SegmentsOnWire.Seen> seen = wire.until(Duration.ofMillis(LIMIT_MILLIS),
                    each -> each.destinationPort() == 40_001);
            assertTrue(seen.stream().noneMatch(each -> each.destinationPort() == 40_000), () -> "answered: " + seen);
        }
        assertEquals(1, tcp("kernel.segments"));
    }

    /**
     * Plays a peer without a kernel. The SYN and the data are disguised by {@code disguise}, the ACKs are not and
     * arrive through the device.
     */
    private void dialogue(String client, String server, Function<byte[], List<byte[]>> disguise) throws Exception {
        pair = network.vethPair(host, network.namespace());
        if (client.contains(".")) {
            host.run("ip", "addr", "add", server + "/24", "dev", pair.ours().name());
        } else {
            host.run("ip", "-6", "addr", "add", server + "/64", "dev", pair.ours().name(), "nodad");
        }
        host.run("ip", "neigh", "add", client, "lladdr", pair.peer().mac(), "dev", pair.ours().name());
        openGroup("xdp");
        int port = serve(server);
        IpAddress from = IpAddress.parse(client);
        IpAddress to = IpAddress.parse(server);
        ByteBuf hello = Unpooled.directBuffer().writeBytes(new byte[40]);
        try (SegmentsOnWire wire = new SegmentsOnWire(pair.peer());
                ForgedSegments forged = new ForgedSegments(pair.peer(), pair.ours())) {
            // Several connections, so that they are spread over the loops.
            for (int peerPort = 40_000; peerPort < 40_008; peerPort++) {
                Segment segment = new Segment().source(from.high(), from.low(), peerPort)
                        .destination(to.high(), to.low(), port).window(65535);
                int ours = peerPort;
                disguise.apply(ForgedSegments.packet(segment.seq(1_000).flags(TcpFlags.SYN).mss(1220)))
                        .forEach(forged::send);
                int isn = seen(wire, ours, each -> each.has(TcpFlags.SYN)).seq();
                segment.clear().source(from.high(), from.low(), peerPort).destination(to.high(), to.low(), port)
                        .window(65535).seq(1_001).ack(isn + 1).flags(TcpFlags.ACK);
                forged.send(ForgedSegments.packet(segment));
                segment.flags(TcpFlags.ACK | TcpFlags.PSH).payload(hello, 0, hello.readableBytes());
                disguise.apply(ForgedSegments.packet(segment)).forEach(forged::send);
                assertEquals(isn + 1, seen(wire, ours, each -> each.payloadBytes() > 0).seq());
                segment.seq(1_001 + hello.readableBytes()).ack(isn + 1 + hello.readableBytes());
                forged.send(ForgedSegments.packet(segment));
                assertEquals(isn + 1 + hello.readableBytes(), seen(wire, ours, each -> each.payloadBytes() > 0
                        && each.seq() == isn + 1 + hello.readableBytes()).seq());
            }
        } finally {
            hello.release();
        }
        assertEquals(16, tcp("kernel.segments"));
        assertEquals(0, tcp("resets.sent"));
    }

    /** Returns the first matching segment of a connection; fails if the connection is reset. */
    private static SegmentsOnWire.Seen seen(SegmentsOnWire wire, int port, Predicate<SegmentsOnWire.Seen> wanted) {
        Predicate<SegmentsOnWire.Seen> ofPort = each -> each.destinationPort() == port;
        List<SegmentsOnWire.Seen> seen = wire.until(Duration.ofMillis(LIMIT_MILLIS),
                ofPort.and(wanted.or(each -> each.has(TcpFlags.RST))));
        assertTrue(seen.stream().noneMatch(ofPort.and(each -> each.has(TcpFlags.RST))), () -> "reset: " + seen);
        return seen.stream().filter(ofPort.and(wanted)).findFirst().orElseThrow();
    }

    /** Splits a packet; the first fragment contains 8 bytes of the TCP header. */
    private static List<byte[]> inFragments(byte[] packet) {
        int split = Ipv4Header.MIN_LENGTH_BYTES + 8;
        byte[] first = Arrays.copyOf(packet, split);
        byte[] second = new byte[packet.length - 8];
        System.arraycopy(packet, 0, second, 0, Ipv4Header.MIN_LENGTH_BYTES);
        System.arraycopy(packet, split, second, Ipv4Header.MIN_LENGTH_BYTES, packet.length - split);
        finish(first, Ipv4Header.MORE_FRAGMENTS);
        finish(second, 1);
        return List.of(first, second);
    }

    private static void finish(byte[] fragment, int flagsAndOffset) {
        ByteBuffer header = ByteBuffer.wrap(fragment);
        header.putShort(2, (short) fragment.length).putShort(4, (short) 4711).putShort(6, (short) flagsAndOffset)
                .putShort(10, (short) 0);
        int sum = 0;
        for (int i = 0; i < Ipv4Header.MIN_LENGTH_BYTES; i += 2) {
            sum += header.getShort(i) & 0xFFFF;
        }
        header.putShort(10, (short) ~((sum >>> 16) + (sum & 0xFFFF)));
    }

    /**
     * Inserts an extension header of eight bytes: options with padding, or a fragment header of an unfragmented
     * packet.
     */
    private static byte[] behind(int type, byte[] packet) {
        byte[] longer = new byte[packet.length + 8];
        System.arraycopy(packet, 0, longer, 0, Ipv6Header.LENGTH_BYTES);
        System.arraycopy(packet, Ipv6Header.LENGTH_BYTES, longer, Ipv6Header.LENGTH_BYTES + 8,
                packet.length - Ipv6Header.LENGTH_BYTES);
        ByteBuffer.wrap(longer).putShort(4, (short) (longer.length - Ipv6Header.LENGTH_BYTES));
        longer[Ipv6Header.LENGTH_BYTES] = longer[6];
        longer[6] = (byte) type;
        if (type != 44) {
            longer[Ipv6Header.LENGTH_BYTES + 2] = 1;
            longer[Ipv6Header.LENGTH_BYTES + 3] = 4;
        }
        return longer;
    }

    private void connectFiveTimes() throws Exception {
        try (ServerSocket server = pair.peer().namespace().call(() -> new ServerSocket(0, 50,
                InetAddress.ofLiteral("::")))) {
            Thread.ofPlatform().daemon().start(() -> {
                while (!server.isClosed()) {
                    try (Socket socket = server.accept(); InputStream in = socket.getInputStream()) {
                        in.transferTo(socket.getOutputStream());
                    } catch (IOException e) {
                        // The client has closed or the test has ended.
                    }
                }
            });
            for (int i = 0; i < 5; i++) {
                String text = "connection " + i;
                BlockingQueue<String> answers = new LinkedBlockingQueue<>();
                Channel client = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                        .handler(new ChannelInboundHandlerAdapter() {
                            @Override
                            public void channelRead(ChannelHandlerContext ctx, Object msg) {
                                answers.add(((ByteBuf) msg).toString(CharsetUtil.US_ASCII));
                                ((ByteBuf) msg).release();
                            }
                        }).connect(new InetSocketAddress(InetAddress.ofLiteral(i % 2 == 0 ? pair.peer().ipv4()
                                : pair.peer().ipv6()), server.getLocalPort())).sync().channel();
                client.writeAndFlush(Unpooled.copiedBuffer(text, CharsetUtil.US_ASCII)).sync();
                String answer = answers.poll(LIMIT_MILLIS, TimeUnit.MILLISECONDS);
                assertNotNull(answer);
                assertEquals(text, answer);
                client.close().sync();
            }
        }
    }
}
