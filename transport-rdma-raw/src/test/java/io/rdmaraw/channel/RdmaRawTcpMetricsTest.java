package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.SimpleChannelInboundHandler;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.metrics.RdmaRawTcpSockets;
import io.rdmaraw.metrics.RdmaRawTcpStatistics;
import io.rdmaraw.metrics.internal.SocketRows;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import javax.management.openmbean.CompositeData;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Snapshots of the servers and connections of TCP, by API, management bean and flight recorder. */
@Timeout(60)
class RdmaRawTcpMetricsTest {
    private static final int PAYLOAD_BYTES = 1000;

    private final LoopDevice device = new LoopDevice();
    private final RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder()
            .device(device.name).receiveQueueDepth(256).sendQueueDepth(256).slotCount(1024).build());
    private final BlockingQueue<Integer> read = new LinkedBlockingQueue<>();

    @AfterEach
    void shutDown() {
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private Channel listen() throws Exception {
        return listen(InetAddress.getLoopbackAddress());
    }

    private Channel listen(InetAddress local) throws Exception {
        return new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                .option(ChannelOption.SO_BACKLOG, 77).childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel child) {
                        child.pipeline().addLast(new SimpleChannelInboundHandler<ByteBuf>() {
                            @Override
                            protected void channelRead0(ChannelHandlerContext ctx, ByteBuf msg) {
                                read.add(msg.readableBytes());
                            }
                        });
                    }
                }).bind(new InetSocketAddress(local, 0)).sync().channel();
    }

    /** Opens a connection and transfers {@link #PAYLOAD_BYTES}. */
    private Channel connect(Channel server) throws Exception {
        Channel client = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                .handler(new ChannelInboundHandlerAdapter()).connect(server.localAddress()).sync().channel();
        client.writeAndFlush(Unpooled.wrappedBuffer(new byte[PAYLOAD_BYTES])).sync();
        for (int bytes = 0; bytes < PAYLOAD_BYTES; ) {
            Integer more = read.poll(30, TimeUnit.SECONDS);
            assertTrue(more != null, "the server has got its bytes");
            bytes += more;
        }
        return client;
    }

    private RdmaRawTcpStatistics tcp() {
        return RdmaRawMetrics.loops().stream().flatMap(loop -> loop.queues().stream())
                .filter(queue -> queue.deviceName().equals(device.name))
                .flatMap(queue -> queue.channels().values().stream()).filter(RdmaRawTcpStatistics.class::isInstance)
                .map(RdmaRawTcpStatistics.class::cast).findFirst().orElseThrow();
    }

    @Test
    void snapshotListsServersStatesAndConnections() throws Exception {
        Channel server = listen();
        Channel client = connect(server);
        RdmaRawTcpSockets sockets = tcp().sockets(10).get();
        assertEquals(List.of(new RdmaRawTcpSockets.Listener((InetSocketAddress) server.localAddress(), 0, 77)),
                sockets.listeners());
        assertEquals(2, sockets.countByState().get("ESTABLISHED"),
                "both ends live on this loop: " + sockets.countByState());
        RdmaRawTcpSockets.Connection mine = sockets.connections().stream()
                .filter(c -> c.local().equals(client.localAddress())).findFirst().orElseThrow();
        assertEquals(server.localAddress(), mine.remote());
        assertTrue(mine.info().segmentsOut() >= 2, mine.toString());
        assertEquals(2, sockets.connections().size());
        client.close().sync();
        server.close().sync();
        assertEquals(List.of(), tcp().sockets(10).get().listeners());
    }

    @Test
    void snapshotHasBusiestConnections() throws Exception {
        Channel server = listen();
        connect(server);
        Channel busy = connect(server);
        busy.writeAndFlush(Unpooled.wrappedBuffer(new byte[PAYLOAD_BYTES])).sync();
        for (int bytes = 0; bytes < PAYLOAD_BYTES; ) {
            bytes += read.take();
        }
        RdmaRawTcpSockets sockets = tcp().sockets(1).get();
        assertEquals(1, sockets.connections().size());
        RdmaRawTcpSockets.Connection told = sockets.connections().getFirst();
        assertTrue(told.local().equals(busy.localAddress()) || told.remote().equals(busy.localAddress()),
                told + " is not of " + busy);
        assertEquals(4, sockets.countByState().get("ESTABLISHED"));
        assertTrue(tcp().sockets(0).get().connections().isEmpty());
        assertThrows(IllegalArgumentException.class, () -> tcp().sockets(-1));
    }

    @Test
    void snapshotOfTerminatedLoopFails() throws Exception {
        listen();
        RdmaRawTcpStatistics tcp = tcp();
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        assertThrows(ExecutionException.class, () -> tcp.sockets(1).get());
    }

    @Test
    void managementBeanListsSocketsAndSkipsBlockedLoops() throws Exception {
        Channel server = listen();
        connect(server);
        List<CompositeData> rows = awaitRows();
        assertEquals(List.of("ALL", "ESTABLISHED", "ESTABLISHED", "LISTEN"),
                rows.stream().map(row -> (String) row.get("state")).sorted().toList());
        CompositeData listener = rows.stream().filter(row -> row.get("state").equals("LISTEN")).findFirst()
                .orElseThrow();
        assertEquals(77L, listener.get("gauge:backlog"));
        assertTrue(listener.get("local").toString().startsWith("127.0.0.1:"), listener.toString());
        assertTrue(rows.stream().anyMatch(row -> row.containsKey("traffic:received.payload.bytes")
                && row.get("traffic:received.payload.bytes").equals((long) PAYLOAD_BYTES)), rows.toString());
        CountDownLatch blocked = new CountDownLatch(1);
        server.eventLoop().execute(() -> awaitUninterruptibly(blocked));
        assertEquals(List.of(), rows(), "what a blocked loop has is left out");
        blocked.countDown();
    }

    @Test
    void aWildcardServerOfBothIpVersionsHasAStarForItsAddress() throws Exception {
        int port = ((InetSocketAddress) listen(InetAddress.ofLiteral("::")).localAddress()).getPort();
        assertEquals(List.of("*:" + port), awaitRows().stream().filter(row -> row.get("state").equals("LISTEN"))
                .map(row -> row.get("local").toString()).toList());
    }

    private List<CompositeData> rows() throws Exception {
        return Arrays.stream(SocketRows.read()).filter(row -> device.name.equals(row.get("device"))).toList();
    }

    /** The bean leaves out a loop that does not answer within half a second, as on a busy machine. */
    private List<CompositeData> awaitRows() throws Exception {
        long beganNanos = System.nanoTime();
        List<CompositeData> rows = rows();
        while (rows.isEmpty()) {
            assertTrue(System.nanoTime() - beganNanos < Patience.NANOS, "the bean has no rows");
            rows = rows();
        }
        return rows;
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void theFlightRecorderSamplesTcp(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("tcp.jfr");
        try (Recording recording = new Recording()) {
            // Takes a sample when the recording ends.
            recording.enable("io.rdmaraw.TcpSample").with("period", "endChunk");
            recording.start();
            connect(listen());
            Exporters.awaitStart();
            recording.stop();
            recording.dump(file);
        }
        List<RecordedEvent> samples = RecordingFile.readAllEvents(file).stream()
                .filter(e -> e.getEventType().getName().equals("io.rdmaraw.TcpSample")
                        && e.getString("device").equals(device.name)).toList();
        assertEquals(1, samples.stream().mapToLong(e -> e.getLong("accepted")).sum(), samples.toString());
        assertEquals(2, samples.getLast().getLong("connections"));
        assertTrue(samples.stream().mapToLong(e -> e.getLong("sentSegments")).sum() >= 4, samples.toString());
    }
}
