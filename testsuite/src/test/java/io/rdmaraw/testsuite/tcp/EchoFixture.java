package io.rdmaraw.testsuite.tcp;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.metrics.RdmaRawQueueStatistics;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

/**
 * A veth pair with an echo server of this transport at one end and clients of the kernel at the other. The ends are in
 * separate network namespaces.
 */
final class EchoFixture implements AutoCloseable {
    static final int BACKLOG = 128;
    /** Large enough that the frame of a RST, which is sent only once, is not lost on a busy machine. */
    private static final int QUEUE_FRAMES = 8192;
    private static final int LIMIT_MILLIS = 30_000;

    private final String device;
    private final VethPair pair;
    private final EventLoopGroup group;
    private final ChannelGroup children = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
    private final Channel server;

    /** @param provider {@code packet} or {@code xdp} */
    EchoFixture(TestNetwork network, String provider) throws InterruptedException {
        pair = network.vethPair(network.namespace(), network.namespace());
        // Replies to all addresses are sent to the peer.
        pair.ours().namespace().run("ip", "route", "add", "default", "via", pair.peer().ipv4());
        device = "soft:" + provider + ':' + pair.ours().name();
        group = new RdmaRawEventLoopGroup(1, pair.ours().namespace().threadFactory(),
                RdmaRawIoHandlerConfig.builder().device(device).receiveQueueDepth(QUEUE_FRAMES)
                        .slotCount(4 * QUEUE_FRAMES).build());
        server = new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                .option(ChannelOption.SO_BACKLOG, BACKLOG).childHandler(new Echo())
                .bind(new InetSocketAddress(InetAddress.ofLiteral(pair.ours().ipv4()), 0)).sync().channel();
    }

    @Sharable
    private final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            children.add(ctx.channel());
        }

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

    VethPair pair() {
        return pair;
    }

    InetSocketAddress server() {
        return (InetSocketAddress) server.localAddress();
    }

    /** Returns the server's open channels. */
    ChannelGroup children() {
        return children;
    }

    /** Returns a kernel socket connected to the server. */
    Socket connect() throws Exception {
        return pair.peer().namespace().call(this::connectHere);
    }

    /** Like {@link #connect()}, for a thread that is already in the clients' namespace. */
    Socket connectHere() throws IOException {
        Socket socket = new Socket();
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(LIMIT_MILLIS);
        socket.connect(server(), LIMIT_MILLIS);
        return socket;
    }

    /** Sends bytes and checks that the same bytes are returned. */
    static void exchange(Socket socket, int bytes, long seed) throws IOException {
        byte[] sent = new byte[bytes];
        new Random(seed).nextBytes(sent);
        socket.getOutputStream().write(sent);
        byte[] answer = socket.getInputStream().readNBytes(bytes);
        assertArrayEquals(sent, answer, () -> "of " + bytes + " bytes " + answer.length + " came back, the first that"
                + " differs is " + Arrays.mismatch(sent, answer));
    }

    /** Returns a metric of the server's TCP. */
    long tcp(String metric) {
        return value(queue().channels().get("tcp"), name -> name.equals(metric));
    }

    /** Returns the sum of the queue's metrics with the suffix {@code metric}. */
    long queue(String metric) {
        return value(queue(), name -> name.endsWith(metric));
    }

    private RdmaRawQueueStatistics queue() {
        return RdmaRawMetrics.loops().stream().flatMap(loop -> loop.queues().stream())
                .filter(queue -> queue.deviceName().equals(device)).findFirst().orElseThrow();
    }

    private static long value(RdmaRawMetered metered, Predicate<String> wanted) {
        List<RdmaRawMetric> metrics = metered.metrics().stream().filter(metric -> wanted.test(metric.name())).toList();
        if (metrics.isEmpty()) {
            throw new IllegalArgumentException("no such metric; there are " + metered.metrics());
        }
        return metrics.stream().mapToLong(metered::value).sum();
    }

    @Override
    public void close() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }
}
