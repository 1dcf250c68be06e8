package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawQueueStatistics;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Connections without a reader hold received bytes. Other connections of the loop are not affected. */
@Timeout(60)
class SlowReadersTest {
    private static final int SLOTS = 512;
    private static final int READERS = 40;
    private static final int PIECES = 50;

    private final LoopDevice device = LoopDevice.inMemory();
    private final BlockingQueue<Channel> children = new LinkedBlockingQueue<>();
    private final BlockingQueue<Integer> answers = new LinkedBlockingQueue<>();
    private EventLoopGroup servers;
    private EventLoopGroup clients;
    private InetSocketAddress server;

    @BeforeEach
    void listen() throws InterruptedException {
        RdmaRawIoHandlerConfig.Builder config = RdmaRawIoHandlerConfig.builder().device(device.name)
                .receiveQueueDepth(256).sendQueueDepth(128);
        servers = new RdmaRawEventLoopGroup(1, config.slotCount(SLOTS).build());
        clients = new RdmaRawEventLoopGroup(1, config.slotCount(8 * SLOTS).build());
        server = (InetSocketAddress) new ServerBootstrap().group(servers).channel(RdmaRawServerSocketChannel.class)
                .childOption(ChannelOption.AUTO_READ, false).childHandler(new Server())
                .bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0)).sync().channel().localAddress();
    }

    @AfterEach
    void shutDown() {
        clients.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        servers.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** Echoes data; auto-read is off at first. */
    private final class Server extends ChannelInboundHandlerAdapter {
        @Override
        public boolean isSharable() {
            return true;
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            children.add(ctx.channel());
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ctx.writeAndFlush(msg);
        }
    }

    private final class Client extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            answers.add(((ByteBuf) msg).readableBytes());
            ((ByteBuf) msg).release();
        }
    }

    private Channel connect() throws InterruptedException {
        return new Bootstrap().group(clients).channel(RdmaRawSocketChannel.class).handler(new Client()).connect(server)
                .sync().channel();
    }

    private void awaitAnswer(int bytes) throws InterruptedException {
        for (int left = bytes; left > 0;) {
            Integer next = answers.poll(20, TimeUnit.SECONDS);
            assertNotNull(next, () -> "of " + bytes + " bytes some did not come back");
            left -= next;
        }
        assertTrue(answers.isEmpty());
    }

    private RdmaRawQueueStatistics statistics(Channel child) {
        return ((RdmaRawSocketChannel) child).tcpStack().deviceQueue().statistics();
    }

    /**
     * There are more pieces than slots. Small pieces are copied by TCP when slots are short, long ones by the queue.
     */
    @ParameterizedTest
    @CsvSource({"20, small-payload", "1400, slow-consumer"})
    void slowReadersDoNotStarveReceiveQueue(int pieceBytes, String copiedFor) throws InterruptedException {
        for (int i = 0; i < READERS; i++) {
            Channel slow = connect();
            for (int piece = 0; piece < PIECES; piece++) {
                slow.writeAndFlush(Unpooled.wrappedBuffer(new byte[pieceBytes])).sync();
            }
        }
        Channel quick = connect();
        List<Channel> served = new ArrayList<>();
        for (int i = 0; i <= READERS; i++) {
            served.add(children.take());
        }
        served.getLast().config().setAutoRead(true);
        for (int i = 0; i < 200; i++) {
            quick.writeAndFlush(Unpooled.wrappedBuffer(new byte[1000])).sync();
            awaitAnswer(1000);
        }
        RdmaRawQueueStatistics queue = statistics(served.getFirst());
        assertTrue(copied(queue, copiedFor) > 0, () -> "nothing was copied for " + copiedFor);

        served.forEach(child -> child.config().setAutoRead(true));
        awaitAnswer(READERS * PIECES * pieceBytes);
    }

    private static long copied(RdmaRawQueueStatistics queue, String reason) {
        RdmaRawMetered counting = reason.equals("small-payload") ? queue.channels().get("tcp") : queue;
        return counting.value(counting.metrics().stream().filter(metric -> metric.name().endsWith(reason)).findFirst()
                .orElseThrow());
    }
}
