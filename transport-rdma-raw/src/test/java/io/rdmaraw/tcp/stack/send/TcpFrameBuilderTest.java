package io.rdmaraw.tcp.stack.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.util.IllegalReferenceCountException;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.memory.Slab;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.FrameQueueOptions;
import io.rdmaraw.queue.ReceiveBurst;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.TcpEngine;
import io.rdmaraw.tcp.TcpEvents;
import io.rdmaraw.tcp.TcpListener;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.segment.TcpHeaderCodec;
import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.CompletionChannel;
import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Two TCP engines in virtual time exchange segments through a real queue. Each frame that the device delivers is parsed
 * and its checksums are verified.
 */
class TcpFrameBuilderTest {
    private static final String DEVICE = System.getProperty("io.rdmaraw.test.device", "soft:loop:segments");
    private static final long MAC = 0x0200_0000_0f51L;
    private static final int PORT = 7;
    private static final int CLIENT_PORT = 40_000;
    private static final int MTU_BYTES = 1500;
    private static final int SMALL_MTU_BYTES = 1300;
    private static final int ETHERNET_BYTES = 14;
    private static final int STREAM_BYTES = 1_000_000;
    private static final long STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final int MAX_IDLE_STEPS = 120_000;

    private final SharedDevice device = SharedDevice.acquire(DEVICE);
    /** Other test classes of the same JVM hold slots deliberately. */
    private final int heldBefore = Slab.heldSlabCount();
    private final CompletionChannel channel = device.context().createCompletionChannel();
    private final FrameQueue queue = FrameQueue.open(device, 1, channel,
            new FrameQueueOptions(1024, 256, 18, 4096, 2048, DirectAccess.ofProperty(), false,
                    StridingReceive.NEVER));
    private final ReceiveBurst burst = new ReceiveBurst();
    private final FrameParser parser = new FrameParser(new ParseCounters());
    private final ParsedFrame parsed = new ParsedFrame();
    private final TcpHeaderCodec headers = new TcpHeaderCodec();
    private final Segment in = new Segment();
    private final Segment out = new Segment();
    private long now = 1;
    private Random random = new Random(1);
    private int lossPercent;
    private int frameLimitBytes = ETHERNET_BYTES + MTU_BYTES;
    private boolean segments;
    /** False simulates a card, which can only send from registered memory. */
    private boolean onDemandPaging = true;
    private End client;
    private End server;

    @BeforeEach
    void steer() {
        queue.steer(FlowSpec.builder().destinationMac(new byte[] {2, 0, 0, 0, 0x0f, 0x51}).build());
    }

    /** The user releases the payload once too often, or from another thread, after the core has polled its segment. */
    @ParameterizedTest
    @CsvSource({"100,false", "1400,false", "100_000,false", "1400,true", "100_000,true"})
    void payloadReleasedTooEarlyHoldsNoSlot(String lengthBytes, boolean card) {
        onDemandPaging = !card;
        connect(true, true);
        int available = queue.slots().available();
        int room = queue.sendRoom();
        int length = Integer.parseInt(lengthBytes.replace("_", ""));
        ByteBuf first = Unpooled.directBuffer(length).writeZero(length);
        ByteBuf second = Unpooled.directBuffer(length).writeZero(length);
        client.connection.send(first);
        client.connection.send(second.retain());
        assertTrue(client.engine.pollSegment(now, out));
        first.release();
        assertThrows(IllegalReferenceCountException.class, () -> client.writer.write(out, MAC, MAC));
        out.releasePayload();
        client.engine.onDataReleased(client.connection);
        assertEquals(available, queue.slots().available());
        assertEquals(room, queue.sendRoom());
        assertEquals(1, second.refCnt());
        second.release();
    }

    @AfterEach
    void close() {
        if (client != null) {
            client.engine.shutdown();
            server.engine.shutdown();
        }
        queue.close();
        channel.close();
        device.release();
        assertEquals(heldBefore, Slab.heldSlabCount(), "slabs of which a slot is not given back");
    }

    /** One TCP engine and the bytes it has received. */
    private final class End implements TcpEvents {
        final TcpFrameBuilder writer;
        final TcpEngine engine;
        final ByteBuf received = Unpooled.buffer(STREAM_BYTES);
        TcpConnection connection;
        boolean finished;

        End(boolean offload, long seed) {
            writer = new TcpFrameBuilder(queue, offload, onDemandPaging && queue.supportsOnDemandPaging());
            TcpConfig config = TcpConfig.builder().mtuBytes(MTU_BYTES).maxSlices(Segment.MAX_SLICES)
                    .segmentationBytes(writer.maxTsoBytes()).build();
            engine = new TcpEngine(config, this, new Random(seed), now);
        }

        boolean send() {
            boolean sent = false;
            while (writer.hasRoom()) {
                engine.limitSegmentation(writer.segmentedRoomBytes());
                if (!engine.pollSegment(now, out)) {
                    break;
                }
                writer.write(out, MAC, MAC);
                sent = true;
            }
            assertEquals(0, queue.post(), "nothing is refused");
            return sent;
        }

        @Override
        public void connected(TcpConnection opened) {
            connection = opened;
        }

        @Override
        public void accepted(TcpListener listener, TcpConnection opened) {
            connection = opened;
        }

        @Override
        public void data(TcpConnection of, ByteBuf buffer, int index, int length) {
            received.writeBytes(buffer, index, length);
            of.reportRead(length);
        }

        @Override
        public void peerFinished(TcpConnection of) {
            finished = true;
        }

        @Override
        public void acked(TcpConnection of, int bytes) {
            // No user waits for room.
        }

        @Override
        public void closed(TcpConnection of, CloseReason reason) {
            // The counters of the engine show the reason.
        }
    }

    private void connect(boolean ipv4, boolean offload) {
        client = new End(offload, 1);
        server = new End(offload, 2);
        segments = offload && queue.maxTsoBytes() > 0;
        long high = ipv4 ? 0 : 0xfd00_0000_0000_0000L;
        long low = ipv4 ? 0xffff_0a00_0001L : 1;
        server.engine.listen(high, low + 1, PORT, 1, null);
        client.engine.connect(now, high, low, CLIENT_PORT, high, low + 1, PORT, null, MTU_BYTES, null);
        while (client.connection == null || server.connection == null) {
            turn();
        }
    }

    /**
     * Sends all possible segments, processes all received frames, and advances the time if there were none. Returns
     * whether there was work.
     */
    private boolean turn() {
        boolean worked = client.send() | server.send();
        worked |= receive() > 0;
        queue.reclaim();
        worked |= queue.inFlight() > 0;
        assertFalse(queue.failed(), "the queue has failed");
        if (!worked) {
            now += STEP_NANOS;
        }
        client.engine.advance(now);
        server.engine.advance(now);
        return worked;
    }

    private int receive() {
        int count = queue.receive(burst);
        for (int i = 0; i < count; i++) {
            receive(burst.takeFrame(i));
        }
        return count;
    }

    private void receive(ByteBuf frame) {
        assertTrue(frame.readableBytes() <= frameLimitBytes, () -> "a frame of " + frame.readableBytes() + " bytes");
        assertEquals(ParseVerdict.TCP, parser.parse(frame.memoryAddress() + frame.readerIndex(),
                frame.readableBytes(), false, parsed));
        if (random.nextInt(100) >= lossPercent) {
            headers.read(parsed, in);
            in.payload(frame, frame.readerIndex() + parsed.payloadOffset(), parsed.payloadLengthBytes());
            (in.destinationPort == PORT ? server : client).engine.onSegment(in, now);
            in.detachPayload();
        }
        frame.release();
    }

    /** Writes a stream of random pieces to a connection and returns a copy of it. */
    private ByteBuf write(TcpConnection connection, String memory, int bytes) {
        ByteBuf copy = Unpooled.buffer(bytes);
        while (copy.readableBytes() < bytes) {
            ByteBuf piece = piece(memory, 1 + random.nextInt(memory.equals("small") ? 300 : 1_500));
            int length = Math.min(piece.writableBytes(), bytes - copy.readableBytes());
            byte[] content = new byte[length];
            random.nextBytes(content);
            piece.writeBytes(content);
            copy.writeBytes(content);
            connection.send(piece);
        }
        return copy;
    }

    private ByteBuf piece(String memory, int bytes) {
        boolean registered = memory.equals("registered") || memory.equals("small")
                || memory.equals("mixed") && random.nextBoolean();
        if (registered && queue.slots().available() > 1_000) {
            return queue.slots().acquire().capacity(bytes);
        }
        return random.nextBoolean() ? Unpooled.buffer(20 * bytes, 20 * bytes)
                : Unpooled.directBuffer(20 * bytes, 20 * bytes);
    }

    private void await(String what, BooleanSupplier condition) {
        int idle = 0;
        while (!condition.getAsBoolean()) {
            idle = turn() ? 0 : idle + 1;
            assertTrue(idle < MAX_IDLE_STEPS, () -> "waited in vain for " + what);
        }
    }

    /** Streams arrive intact with and without segmentation offload, from every kind of memory and with losses. */
    @ParameterizedTest
    @CsvSource({"true,true,registered,0,true", "true,false,registered,0,true", "true,true,foreign,0,true",
        "true,false,foreign,0,true", "false,true,mixed,0,true", "true,true,mixed,3,true", "true,false,mixed,3,true",
        "false,true,registered,1,true", "false,true,small,0,true", "true,true,small,2,true",
        "false,false,small,2,true", "true,true,foreign,5,true", "true,true,foreign,0,false", "true,true,mixed,3,false",
        "true,false,mixed,3,false", "true,true,small,2,false", "true,true,foreign,5,false"})
    void streamsArriveAsTheyWereWritten(boolean ipv4, boolean offload, String memory, int loss, boolean allMemory) {
        onDemandPaging = allMemory;
        random = new Random(loss * 31L + memory.hashCode());
        connect(ipv4, offload);
        lossPercent = loss;
        ByteBuf toServer = write(client.connection, memory, STREAM_BYTES);
        ByteBuf toClient = write(server.connection, memory, STREAM_BYTES / 4);
        client.connection.shutdownOutput();
        server.connection.shutdownOutput();
        await("both ends", () -> server.finished && client.finished);
        assertTrue(ByteBufUtil.equals(toServer, server.received), "what the server received");
        assertTrue(ByteBufUtil.equals(toClient, client.received), "what the client received");
        assertEquals(segments, queue.counters().tsoFrames > 0);
        lossPercent = 0;
        await("the connections to end", () -> client.engine.connectionCount() + server.engine.connectionCount() == 0);
        await("the device", () -> queue.inFlight() == 0);
        if (loss == 0) {
            assertEquals(0, client.engine.counters().retransmittedSegments);
        }
        if (segments && !memory.equals("small")) {
            long frames = queue.counters().tsoFrames;
            assertTrue(frames < client.engine.counters().segmentsOut / (loss == 0 ? 5 : 2), frames + " requests");
        }
    }

    @Test
    void deviceSegmentsByPathMtu() {
        connect(true, true);
        ByteBuf stream = write(client.connection, "mixed", STREAM_BYTES);
        client.send();
        while (receive() + queue.reclaim() + queue.inFlight() > 0) {
            Thread.onSpinWait();
        }
        client.connection.limitMtu(SMALL_MTU_BYTES);
        frameLimitBytes = ETHERNET_BYTES + SMALL_MTU_BYTES;
        await("the stream", () -> server.received.readableBytes() == STREAM_BYTES);
        assertTrue(ByteBufUtil.equals(stream, server.received));
        assertEquals(segments, queue.counters().tsoFrames > 0);
    }

    /** Unregistered memory needs a slot for the headers only, and is sent as one request with many segments. */
    @Test
    void unregisteredMemoryIsSentInPlace() {
        assumeTrue(queue.supportsOnDemandPaging(), "cards read registered memory alone");
        connect(true, true);
        ByteBuf stream = Unpooled.directBuffer(STREAM_BYTES / 4).writerIndex(STREAM_BYTES / 4);
        for (int i = 0; i < STREAM_BYTES / 4; i++) {
            stream.setByte(i, random.nextInt());
        }
        List<FrameBuf> held = new ArrayList<>();
        try {
            while (queue.slots().available() > 1) {
                held.add(queue.slots().acquire());
            }
            assertEquals(TcpConfig.MAX_SEGMENTATION_BYTES, client.writer.segmentedRoomBytes());
            client.connection.send(stream.retain());
            client.send();
            assertTrue(client.engine.counters().segmentsOut > 10, "the initial window at once");
            assertEquals(0, client.writer.copiedSegments());
        } finally {
            held.forEach(FrameBuf::release);
        }
        await("the stream", () -> server.received.readableBytes() == STREAM_BYTES / 4);
        assertTrue(ByteBufUtil.equals(stream, server.received));
        await("the device", () -> queue.inFlight() == 0 && stream.refCnt() == 1);
        stream.release();
    }

    @Test
    void withFewSlotsSegmentsAreShort() {
        onDemandPaging = false;
        connect(true, true);
        ByteBuf stream = write(client.connection, "foreign", STREAM_BYTES / 4);
        int slotCapacityBytes = queue.slots().slotCapacityBytes();
        List<FrameBuf> held = new ArrayList<>();
        try {
            for (int slots : new int[] {4, 1}) {
                while (queue.slots().available() > slots) {
                    held.add(queue.slots().acquire());
                }
                assertEquals(segments ? (slots - 1) * slotCapacityBytes : 0, client.writer.segmentedRoomBytes());
            }
            client.send();
            assertEquals(1, client.engine.counters().segmentsOut - 2, "SYN, ACK, and what one slot holds");
        } finally {
            held.forEach(FrameBuf::release);
        }
        await("the stream", () -> server.received.readableBytes() == STREAM_BYTES / 4);
        assertTrue(ByteBufUtil.equals(stream, server.received));
    }
}
