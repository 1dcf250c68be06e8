package io.rdmaraw.channel;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.FastThreadLocalThread;
import io.rdmaraw.metrics.RdmaRawLoopStatistics;
import io.rdmaraw.metrics.RdmaRawMeterBinder;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.metrics.RdmaRawQueueStatistics;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import io.rdmaraw.queue.FrameQueue;

import javax.management.openmbean.CompositeData;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/** The counters of the loops and all interfaces that publish them. */
@Timeout(60)
class RdmaRawMetricsTest {
    private static final int SLOTS = 1024;

    private final LoopDevice device = new LoopDevice();
    private final RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.builder()
            .receiveQueueDepth(256).sendQueueDepth(256).slotCount(SLOTS).build());
    private final FrameQueueHandler received = new FrameQueueHandler();

    @AfterEach
    void shutDown() {
        received.messages.forEach(ReferenceCountUtil::release);
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private RdmaRawQueueStatistics queue() {
        return RdmaRawMetrics.loops().stream().flatMap(loop -> loop.queues().stream())
                .filter(queue -> queue.deviceName().equals(device.name)).findFirst().orElseThrow();
    }

    private static long value(RdmaRawMetered metered, RdmaRawMetric.Kind kind, String name) {
        return metered.value(metered.metrics().stream().filter(m -> m.kind() == kind && m.name().equals(name))
                .findFirst().orElseThrow());
    }

    private void sendAndTake(RdmaRawChannel sender, int count) throws InterruptedException {
        for (int i = 0; i < count; i++) {
            sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, i, 64)).sync();
            received.takeFrame().release();
        }
    }

    @Test
    void framesCopiesBurstsAndRulesAreCounted() throws Exception {
        RdmaRawChannel receiver = device.bind(group, device.to(LoopDevice.A), received);
        RdmaRawChannel sender = device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
        sendAndTake(sender, 10);
        receiver.eventLoop().submit(() -> { }).sync();
        RdmaRawQueueStatistics queue = queue();
        assertEquals(10, value(queue, RdmaRawMetric.Kind.TRAFFIC, "received.frames"));
        assertEquals(10, value(queue, RdmaRawMetric.Kind.COPY, "unregistered-memory"));
        assertEquals(1, value(queue, RdmaRawMetric.Kind.GAUGE, "rules"));
        assertEquals(2, value(queue, RdmaRawMetric.Kind.GAUGE, "channels"));
        long bursts = value(queue, RdmaRawMetric.Kind.WORK, "receive.bursts");
        long byFill = 0;
        for (int n = 0; n <= 6; n++) {
            byFill += queue.burstsOfFill(n);
        }
        assertEquals(bursts, byFill);
        assertEquals(10, queue.burstsOfFill(0), "each frame came by itself");
        RdmaRawMetered counted = queue.channels().entrySet().stream()
                .filter(entry -> entry.getKey().startsWith(receiver.id().asShortText())).findFirst().orElseThrow()
                .getValue();
        assertEquals(10, value(counted, RdmaRawMetric.Kind.TRAFFIC, "received.frames"));
        assertThrows(IllegalArgumentException.class,
                () -> queue.value(new RdmaRawMetric("other", RdmaRawMetric.Kind.DROP, "")));
    }

    @Test
    void countersOfClosedChannelRemain() throws Exception {
        RdmaRawChannel receiver = device.bind(group, device.to(LoopDevice.A), received);
        RdmaRawChannel sender = device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
        sendAndTake(sender, 3);
        RdmaRawQueueStatistics queue = queue();
        receiver.close().sync();
        Map<RdmaRawMetric, Long> totals = queue.totals("channel");
        assertEquals(3, totals.entrySet().stream().filter(e -> e.getKey().name().equals("received.frames"))
                .mapToLong(Map.Entry::getValue).sum());
        assertEquals(0, value(queue, RdmaRawMetric.Kind.GAUGE, "rules"));
        assertEquals(1, value(queue, RdmaRawMetric.Kind.GAUGE, "channels"));
    }

    @Test
    void terminatedLoopsAreRemoved() throws Exception {
        device.bind(group, device.sendOnly(), received);
        RdmaRawQueueStatistics queue = queue();
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        assertTrue(RdmaRawMetrics.loops().stream().noneMatch(loop -> loop.queues().contains(queue)));
    }

    @Test
    void loopsWithEqualThreadNamesAreDistinguished() throws Exception {
        RdmaRawEventLoopGroup twins = new RdmaRawEventLoopGroup(2, task -> new FastThreadLocalThread(task, "twin"),
                RdmaRawIoHandlerConfig.defaults());
        try {
            for (EventExecutor loop : twins) {
                loop.submit(() -> { }).sync();
            }
            assertEquals(Set.of("twin", "twin#2"), RdmaRawMetrics.loops().stream().map(RdmaRawLoopStatistics::name)
                    .filter(name -> name.startsWith("twin")).collect(Collectors.toSet()));
        } finally {
            twins.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    @Test
    void timeIsSpunSleptOrWorked() throws Exception {
        RdmaRawChannel receiver = device.bind(group, device.to(LoopDevice.A), received);
        sendAndTake(device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter()), 3);
        RdmaRawLoopStatistics loop = RdmaRawMetrics.loops().stream()
                .filter(each -> each.queues().contains(queue())).findFirst().orElseThrow();
        assertEquals(receiver.eventLoop().submit(() -> Thread.currentThread().getName()).sync().getNow(), loop.name());
        long spin;
        long sleep;
        do {
            receiver.eventLoop().submit(() -> { }).sync();
            spin = value(loop, RdmaRawMetric.Kind.NANOS, "spin");
            sleep = value(loop, RdmaRawMetric.Kind.NANOS, "sleep");
        } while (spin == 0 || sleep == 0);
        assertTrue(spin + sleep < value(loop, RdmaRawMetric.Kind.NANOS, "alive"));
    }

    @Test
    void managementBeanShowsCounters() throws Exception {
        device.bind(group, device.to(LoopDevice.A), received);
        sendAndTake(device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter()), 4);
        Exporters.awaitStart();
        CompositeData row = Arrays.stream(rows("Queues")).filter(each -> device.name.equals(each.get("device")))
                .findFirst().orElseThrow();
        assertEquals(4L, row.get("traffic:received.frames"));
        assertEquals(4L, row.get("work:fill.1"));
        CompositeData[] channels = rows("Channels");
        assertEquals(2, Arrays.stream(channels).filter(each -> device.name.equals(each.get("device"))).count());
        assertTrue(Arrays.stream(rows("Loops"))
                .anyMatch(each -> each.get("loop").equals(row.get("loop"))));
        assertEquals(5, Exporters.SERVER.getMBeanInfo(Exporters.BEAN).getAttributes().length);
        CompositeData ofDevice = Arrays.stream(rows("Devices"))
                .filter(each -> device.name.equals(each.get("device"))).findFirst().orElseThrow();
        assertEquals(0L, ofDevice.get("drop:ring-full"));
        assertFalse(row.containsKey("drop:ring-full"), "what is of the whole device is in no row of a queue");
    }

    /** A bean that stayed would keep the class loader of a web application that has ended. */
    @Test
    void managementBeanEndsWithTheLastLoop() throws Exception {
        device.bind(group, device.sendOnly(), received);
        Exporters.awaitStart();
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
        assumeTrue(RdmaRawMetrics.loops().isEmpty(), "no other test has left a loop");
        Exporters.awaitEnd();
    }

    /** Each queue reports the counters of the whole device. A sum over loops must include them once. */
    @Test
    void deviceCountersAreCountedOnceForAllLoops() throws Exception {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        RdmaRawEventLoopGroup second = new RdmaRawEventLoopGroup(1, RdmaRawIoHandlerConfig.defaults());
        try (RdmaRawMeterBinder binder = new RdmaRawMeterBinder()) {
            binder.bindTo(registry);
            RdmaRawChannel first = device.bind(group, device.to(LoopDevice.A), received);
            device.bind(second, device.to(LoopDevice.B), new ChannelInboundHandlerAdapter());
            device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter()).writeAndFlush(
                    LoopDevice.frame(LoopDevice.A, LoopDevice.B, 1, 64)).sync();
            received.takeFrame().release();
            assertEquals(List.of("-"), loopsOf(registry, "rdmaraw.queue.drops", "ring-full"));
            assertEquals(2, loopsOf(registry, "rdmaraw.queue.drops", "send-error").size());
            // When this loop terminates, the other one publishes the counters of the device.
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
            assertFalse(first.isOpen());
            assertEquals(List.of("-"), loopsOf(registry, "rdmaraw.queue.drops", "ring-full"));
            assertEquals(0, registry.get("rdmaraw.queue.drops").tag("device", device.name).tag("reason", "ring-full")
                    .functionCounter().count());
            second.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
            assertEquals(List.of(), loopsOf(registry, "rdmaraw.queue.drops", "ring-full"));
        } finally {
            second.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private List<String> loopsOf(SimpleMeterRegistry registry, String name, String reason) {
        return registry.find(name).tag("device", device.name).tag("reason", reason).functionCounters().stream()
                .map(counter -> counter.getId().getTag("loop")).toList();
    }

    private static CompositeData[] rows(String attribute) throws Exception {
        return (CompositeData[]) Exporters.SERVER.getAttribute(Exporters.BEAN, attribute);
    }

    @Test
    void micrometerGetsDropsAndCopiesByReason() throws Exception {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        try (RdmaRawMeterBinder binder = new RdmaRawMeterBinder()) {
            binder.bindTo(registry);
            RdmaRawChannel receiver = device.bind(group, device.to(LoopDevice.A), received, false);
            receiver.config().setReceiveBacklog(0);
            RdmaRawChannel sender = device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
            sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 1, 64)).sync();
            FunctionCounter drops = registry.get("rdmaraw.channel.drops").tag("device", device.name)
                    .tag("reason", "not-read").functionCounters().stream().findFirst().orElseThrow();
            long endNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
            while (drops.count() < 1) {
                assertTrue(System.nanoTime() < endNanos, "the drop was not counted");
                Thread.onSpinWait();
            }
            assertEquals(1, registry.get("rdmaraw.queue.copies").tag("device", device.name)
                    .tag("reason", "unregistered-memory").functionCounter().count());
            assertEquals(0, registry.get("rdmaraw.datagram.drops").tag("device", device.name)
                    .tag("reason", "not-read").functionCounter().count(), "what other channels dropped is apart");
        }
        assertTrue(registry.getMeters().isEmpty(), "closing the binder removes what it bound");
    }

    /** Datagram channels and TCP have metrics with equal names and descriptions. */
    @Test
    void bytesOfTcpAreNotThoseOfDatagrams() throws Exception {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        RdmaRawEventLoopGroup streams = new RdmaRawEventLoopGroup(1,
                RdmaRawIoHandlerConfig.builder().device(device.name).build());
        try (RdmaRawMeterBinder binder = new RdmaRawMeterBinder()) {
            binder.bindTo(registry);
            CountDownLatch arrived = new CountDownLatch(1);
            Channel server = new ServerBootstrap().group(streams).channel(RdmaRawServerSocketChannel.class)
                    .childHandler(new ChannelInboundHandlerAdapter() {
                        @Override
                        public void channelRead(ChannelHandlerContext ctx, Object msg) {
                            ReferenceCountUtil.release(msg);
                            arrived.countDown();
                        }
                    }).bind("127.0.0.1", 0).sync().channel();
            Channel client = new Bootstrap().group(streams).channel(RdmaRawSocketChannel.class)
                    .handler(new ChannelInboundHandlerAdapter()).connect(server.localAddress()).sync().channel();
            client.writeAndFlush(Unpooled.wrappedBuffer(new byte[10])).sync();
            arrived.await();
            for (String direction : List.of("received", "sent")) {
                String name = direction + ".payload.bytes";
                assertEquals(10, countOf(registry, "rdmaraw.tcp." + name), name);
                assertEquals(0, countOf(registry, "rdmaraw.datagram." + name), name);
            }
        } finally {
            streams.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }

    private double countOf(SimpleMeterRegistry registry, String name) {
        return registry.get(name).tag("device", device.name).functionCounter().count();
    }

    @Test
    void theFlightRecorderSeesRulesRecoveriesSlowConsumersAndSamples(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("events.jfr");
        try (Recording recording = new Recording()) {
            for (String event : List.of("FlowChange", "QueueRecovery", "SlowConsumer")) {
                recording.enable("io.rdmaraw." + event).withoutThreshold();
            }
            // Takes a sample of each event when the recording ends.
            recording.enable("io.rdmaraw.QueueSample").with("period", "endChunk");
            recording.start();
            RdmaRawChannel receiver = device.bind(group, device.to(LoopDevice.A), received);
            RdmaRawChannel sender = device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
            keepAllFrames(sender);
            receiver.deviceQueue().frameQueue().queuePair().toError();
            sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, 0, 64));
            Exporters.awaitStart();
            RdmaRawQueueEvent event;
            do {
                event = (RdmaRawQueueEvent) received.takeEvent();
            } while (event.kind() != RdmaRawQueueEvent.Kind.QUEUE_RECOVERED);
            sendAndTake(sender, 2);
            receiver.close().sync();
            recording.stop();
            recording.dump(file);
        }
        List<RecordedEvent> events = RecordingFile.readAllEvents(file).stream()
                .filter(e -> e.getString("device").equals(device.name)).toList();
        List<RecordedEvent> flows = named(events, "FlowChange");
        assertEquals(2, flows.size(), events.toString());
        assertTrue(flows.getFirst().getString("addedRules").contains("02:00:00:00:00:0a"), flows.toString());
        assertEquals(0, flows.getLast().getInt("rules"));
        assertEquals(1, named(events, "QueueRecovery").size());
        assertFalse(named(events, "SlowConsumer").isEmpty());
        assertTrue(named(events, "SlowConsumer").getFirst().getLong("copiedFrames") > 0);
        assertTrue(named(events, "QueueSample").stream().mapToLong(e -> e.getLong("receivedFrames")).sum() > 0);
    }

    private static List<RecordedEvent> named(List<RecordedEvent> events, String name) {
        return events.stream().filter(e -> e.getEventType().getName().equals("io.rdmaraw." + name)).toList();
    }

    /** Keeps frames until the queue copies them out of their slots, then releases them, so that the copying ends. */
    private void keepAllFrames(RdmaRawChannel sender) throws InterruptedException {
        List<ByteBuf> kept = new ArrayList<>();
        for (int i = 0; i < SLOTS; i++) {
            sender.writeAndFlush(LoopDevice.frame(LoopDevice.A, LoopDevice.B, i, 64)).sync();
            kept.add(received.takeFrame());
        }
        kept.forEach(ByteBuf::release);
        sendAndTake(sender, 300);
    }

    @Test
    void pcapHandlerWritesFramesOfBothDirections() throws Exception {
        ByteArrayOutputStream file = new ByteArrayOutputStream();
        CountDownLatch closed = new CountDownLatch(1);
        PcapFrameHandler pcap = PcapFrameHandler.toStream(closing(file, closed), 32);
        RdmaRawChannel receiver = device.bind(group, device.to(LoopDevice.A), received);
        receiver.pipeline().addFirst(pcap);
        sendAndTake(device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter()), 2);
        receiver.writeAndFlush(new FrameBurst().add(LoopDevice.frame(LoopDevice.B, LoopDevice.A, 7, 100))).sync();
        receiver.close().sync();
        assertTrue(closed.await(30, TimeUnit.SECONDS));
        assertEquals(0, pcap.droppedFrames());
        assertNull(pcap.failure());
        ByteBuffer bytes = ByteBuffer.wrap(file.toByteArray()).order(ByteOrder.LITTLE_ENDIAN);
        assertEquals(0xa1b23c4d, bytes.getInt(0));
        assertEquals(1, bytes.getInt(20));
        int[] lengths = {64, 64, 100};
        for (int i = 0; i < lengths.length; i++) {
            int at = 24 + i * (16 + 32);
            assertEquals(32, bytes.getInt(at + 8));
            assertEquals(lengths[i], bytes.getInt(at + 12));
            int number = Unpooled.wrappedBuffer(bytes.array()).getInt(at + 16 + 14);
            assertEquals(i < 2 ? i : 7, number);
        }
        assertEquals(24 + 3 * 48, bytes.capacity());
    }

    private static OutputStream closing(ByteArrayOutputStream file, CountDownLatch closed) {
        return new OutputStream() {
            @Override
            public void write(int b) {
                file.write(b);
            }

            @Override
            public void write(byte[] bytes, int offset, int length) {
                file.write(bytes, offset, length);
            }

            @Override
            public void close() {
                closed.countDown();
            }
        };
    }

    @Test
    void framesThatCannotBeWrittenAreCountedAndDelivered() throws Exception {
        CountDownLatch failed = new CountDownLatch(1);
        PcapFrameHandler pcap = PcapFrameHandler.toStream(new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                failed.countDown();
                throw new IOException("disk full");
            }
        }, 64);
        RdmaRawChannel receiver = device.bind(group, device.to(LoopDevice.A), received);
        receiver.pipeline().addFirst(pcap);
        RdmaRawChannel sender = device.bind(group, device.sendOnly(), new ChannelInboundHandlerAdapter());
        sendAndTake(sender, 1);
        assertTrue(failed.await(30, TimeUnit.SECONDS));
        long endNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (pcap.failure() == null) {
            assertTrue(System.nanoTime() < endNanos);
            Thread.onSpinWait();
        }
        for (int i = 0; i < 20_000 && pcap.droppedFrames() == 0; i++) {
            sendAndTake(sender, 1);
        }
        assertTrue(pcap.droppedFrames() > 0);
    }
}
