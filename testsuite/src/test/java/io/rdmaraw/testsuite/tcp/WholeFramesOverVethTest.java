package io.rdmaraw.testsuite.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.faults.SoftverbsFaults;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.testsuite.leak.LeakExtension;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import io.rdmaraw.verbs.abi.WcStatus;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Tests TCP frames beyond the MTU that are received whole, when their memory is exhausted or their queue fails. */
@Timeout(300)
@WithTestNetwork
@ExtendWith(LeakExtension.class)
class WholeFramesOverVethTest {
    private static final long BYTES = 20_000_000;
    private static final int SLOW_READERS = 20;
    private static final long READ_BYTES = 4_000_000;
    /** Twice the memory of a loop for whole frames. */
    private static final long UNREAD_BYTES = 8_000_000;
    private static final byte[] PATTERN = new byte[1 << 18];

    private final BulkContent toUs = new BulkContent(1);
    private final BulkContent toPeer = new BulkContent(2);
    private final BulkHandler handler = new BulkHandler(toPeer, 1);
    private final AtomicLong readByAll = new AtomicLong();
    private EventLoopGroup group;
    private NetworkNamespace clients;
    private String device;
    private InetSocketAddress server;

    @AfterEach
    void shutDown() {
        SoftDevice.restore();
        if (group != null) {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    /** Starts a server. The first {@code slowReaders} connections stop reading; later ones read everything. */
    private void serve(SoftDevice kind, int slowReaders, TestNetwork network) throws Exception {
        VethPair pair = network.withoutCapture().vethPair(network.namespace(), network.namespace());
        clients = pair.peer().namespace();
        device = kind.on(pair.ours().name());
        group = new RdmaRawEventLoopGroup(1, pair.ours().namespace().threadFactory(),
                RdmaRawIoHandlerConfig.builder().device(device).build());
        server = TcpHost.listen(group, group, TcpHost.address(pair.ours().ipv4(), 0),
                new ChannelInitializer<>() {
                    private int opened;

                    @Override
                    protected void initChannel(Channel child) {
                        child.config().setOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
                        if (opened++ < slowReaders) {
                            child.pipeline().addLast(new StopsReading(readByAll));
                        } else {
                            child.pipeline().addLast(handler);
                        }
                    }
                }).localAddress();
    }

    /** Reads until the window has grown, then stops reading. */
    private static final class StopsReading extends ChannelInboundHandlerAdapter {
        private long readBytes;
        private final AtomicLong readByAll;

        StopsReading(AtomicLong readByAll) {
            this.readByAll = readByAll;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            int bytes = ((ByteBuf) msg).readableBytes();
            ((ByteBuf) msg).release();
            readBytes += bytes;
            readByAll.addAndGet(bytes);
            if (readBytes > READ_BYTES) {
                ctx.channel().config().setAutoRead(false);
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }

    private FutureTask<String> startBulk() throws Exception {
        return startBulk(BYTES, new CountDownLatch(0));
    }

    /** Starts a client that waits for {@code resumed} after {@code pauseAt} bytes. */
    private FutureTask<String> startBulk(long pauseAt, CountDownLatch resumed) throws Exception {
        KernelBulk bulk = new KernelBulk(TcpHost.socket(clients, server.getHostString(), server.getPort()), toUs,
                BYTES, pauseAt, resumed);
        FutureTask<String> sending = new FutureTask<>(bulk::run);
        Thread.ofPlatform().daemon().name("kernel's sender").start(sending);
        return sending;
    }

    private void check(FutureTask<String> sending) throws Exception {
        assertEquals(toPeer.digest(1), sending.get(Await.PATIENCE_MILLIS, TimeUnit.MILLISECONDS));
        assertEquals(toUs.digest(BYTES), handler.received().get(Await.PATIENCE_MILLIS, TimeUnit.MILLISECONDS));
    }

    private long whole() {
        return TcpHost.ofDevice(device, "gso-frames.unsegmented");
    }

    /** Sends until the server's window and the kernel's send buffer are full. */
    private SocketChannel fill() throws Exception {
        SocketChannel socket = clients.call(() -> SocketChannel.open(server));
        ByteBuffer bytes = ByteBuffer.wrap(PATTERN);
        for (long sent = 0; sent <= READ_BYTES;) {
            sent += socket.write(bytes.clear());
        }
        socket.configureBlocking(false);
        sendMore(socket);
        return socket;
    }

    private static void sendMore(SocketChannel socket) {
        ByteBuffer bytes = ByteBuffer.wrap(PATTERN);
        try {
            while (socket.write(bytes.clear()) > 0) {
                Thread.onSpinWait();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Other connections still receive whole frames if some connections do not read. */
    @ParameterizedTest
    @EnumSource(names = {"PACKET", "XDP_GENERIC"})
    void slowReadersDoNotExhaustWholeFrameMemory(SoftDevice kind, TestNetwork network) throws Exception {
        serve(kind, SLOW_READERS, network);
        List<SocketChannel> unread = new ArrayList<>();
        try {
            for (int i = 0; i < SLOW_READERS; i++) {
                unread.add(fill());
            }
            // A client that was faster than the server has filled its send buffer before the server stopped reading.
            Await.until("frames that are not read", () -> {
                unread.forEach(WholeFramesOverVethTest::sendMore);
                return unreadBytes() > UNREAD_BYTES;
            });
            long before = whole();
            check(startBulk());
            long came = whole() - before;
            assertTrue(came * 65_536 > BYTES / 2, () -> came + " frames of " + BYTES + " bytes came whole");
        } finally {
            for (SocketChannel socket : unread) {
                socket.close();
            }
        }
    }

    /**
     * The queue is reset, and frames that it did not receive are cut into segments. No byte is lost, and later
     * frames are whole again.
     */
    @ParameterizedTest
    @CsvSource({"PACKET,LOC_QP_OP_ERR", "PACKET,FATAL_ERR", "XDP_GENERIC,LOC_QP_OP_ERR"})
    void failedWholeFrameQueueIsRecovered(SoftDevice kind, String status, TestNetwork network) throws Exception {
        serve(kind, 0, network);
        SharedDevice shared = SharedDevice.acquire(device);
        try {
            // The pause ensures that more frames follow the failed one.
            CountDownLatch resumed = new CountDownLatch(1);
            FutureTask<String> sending = startBulk(BYTES / 2, resumed);
            Await.until("the first half", () -> TcpHost.tcp(device, "received.payload.bytes") >= BYTES / 2);
            long before = whole();
            assertTrue(before > 10, () -> before + " frames came whole");
            SoftverbsFaults.of(shared.context()).failNextWhole(
                    status.equals("FATAL_ERR") ? WcStatus.FATAL_ERR : WcStatus.LOC_QP_OP_ERR);
            resumed.countDown();
            check(sending);
            assertTrue(whole() > before + 10, () -> whole() + " frames came whole, " + before + " before");
            assertEquals(1, ofQueue("receive-error"));
            assertEquals(status.equals("FATAL_ERR") ? 0 : 1, ofQueue("recoveries"));
        } finally {
            shared.release();
        }
    }

    /** Returns the number of received bytes that the connections have not read. */
    private long unreadBytes() {
        return TcpHost.tcp(device, "received.payload.bytes") - readByAll.get();
    }

    private long ofQueue(String name) {
        return TcpHost.ofDevice(device, name);
    }
}
