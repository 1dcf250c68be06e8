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
import io.rdmaraw.channel.RdmaRawMetered;
import io.rdmaraw.channel.RdmaRawMetrics;
import io.rdmaraw.channel.RdmaRawPortStatistics;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.NetworkExtension;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Segments of our connections that reach the kernel, by fragments or because the device cannot keep them from it. */
@Timeout(120)
@ExtendWith({NetworkExtension.class, LeakExtension.class})
class KernelBesideOverVethTest {
    private static final int LIMIT_MILLIS = 30_000;

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
                RdmaRawIoHandlerConfig.builder().ipDevice(device).build());
    }

    private int serve(String address) throws InterruptedException {
        Channel server = new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new Echo()).bind(new InetSocketAddress(InetAddress.ofLiteral(address), 0)).sync()
                .channel();
        return ((InetSocketAddress) server.localAddress()).getPort();
    }

    private long tcp(String name) {
        return RdmaRawMetrics.loops().stream().flatMap(loop -> loop.ports().stream())
                .filter(port -> port.deviceName().equals(device)).mapToLong(port -> tcp(port, name)).sum();
    }

    private static long tcp(RdmaRawPortStatistics port, String name) {
        RdmaRawMetered tcp = port.channels().get("tcp");
        return tcp == null ? 0 : tcp.metrics().stream().filter(each -> each.name().equals(name))
                .mapToLong(tcp::value).sum();
    }

    /** A client of the kernel's that sends, and checks what comes back. */
    private static void exchange(NetworkNamespace client, String address, int port, int bytes) throws Exception {
        byte[] sent = new byte[bytes];
        new Random(bytes).nextBytes(sent);
        byte[] received = client.call(() -> {
            try (Socket socket = new Socket()) {
                socket.setSoTimeout(LIMIT_MILLIS);
                socket.connect(new InetSocketAddress(InetAddress.ofLiteral(address), port), LIMIT_MILLIS);
                Thread writer = Thread.ofPlatform().daemon().start(() -> {
                    try {
                        socket.getOutputStream().write(sent);
                    } catch (IOException e) {
                        // The reader meets it too.
                    }
                });
                byte[] answer = socket.getInputStream().readNBytes(bytes);
                writer.join();
                return answer;
            }
        });
        assertTrue(Arrays.equals(sent, received), () -> received.length + " bytes came back, the first that differs is "
                + Arrays.mismatch(sent, received));
    }

    /** The environment's word for {@code soft:packet:} devices, which softverbs reads when it opens one. */
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

    /** As with CAP_NET_RAW alone: the kernel sees all of our frames. */
    @Test
    void theKernelIsQuietWhereNoProgramKeepsFramesFromIt() throws Throwable {
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

    private void connectFiveTimes() throws Exception {
        try (ServerSocket server = pair.peer().namespace().call(() -> new ServerSocket(0, 50,
                InetAddress.ofLiteral("::")))) {
            Thread.ofPlatform().daemon().start(() -> {
                while (!server.isClosed()) {
                    try (Socket socket = server.accept(); InputStream in = socket.getInputStream()) {
                        in.transferTo(socket.getOutputStream());
                    } catch (IOException e) {
                        // The client or the test is done.
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
