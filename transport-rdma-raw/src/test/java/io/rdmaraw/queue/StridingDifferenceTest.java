package io.rdmaraw.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeLibrary;
import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.CompletionChannel;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Tag;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.lifecycle.AfterContainer;
import net.jqwik.api.lifecycle.BeforeContainer;

/**
 * Receives the same frames through libmlx5 and through striding queues, with plain and with compressed
 * completions. Handlers hold some frames for a while; the device must not overwrite these.
 */
@Tag("emulated")
class StridingDifferenceTest {
    private static final String DEVICE = "mlx5_0";
    private static final int MTU_BYTES = 9000;
    private static final int USUAL_MTU_BYTES = 1500;
    private static final int MAX_BURST = 48;
    private static final int SLOT_COUNT = 384;
    private static final int MAX_KEPT = 400;
    private static final ReceiveBurst BURST = new ReceiveBurst();

    private static SharedDevice device;
    private static CompletionChannel channel;
    private static FrameQueue sender;
    private static List<Receiver> receivers;
    private static int spanning;

    /** A queue, the last byte of its MAC address, and the frames held of it. */
    private record Receiver(FrameQueue queue, byte mac, List<ByteBuf> kept, List<Long> sums) {
        static Receiver open(DirectAccess directVerbs, boolean compressed, StridingReceive striding, int mac) {
            Receiver receiver = new Receiver(StridingDifferenceTest.open(directVerbs, compressed, striding), (byte) mac,
                    new ArrayList<>(), new ArrayList<>());
            receiver.queue.steer(FlowSpec.builder().destinationMac(new byte[] {2, 0, 0, 0, 0x57, (byte) mac})
                    .tag(0x1234)
                    .allowHostTraffic().build());
            return receiver;
        }
    }

    private static FrameQueue open(DirectAccess directVerbs, boolean compressed, StridingReceive striding) {
        return FrameQueue.open(device, 1, channel,
                new FrameQueueOptions(128, 128, 2, SLOT_COUNT, 16384, directVerbs, compressed, striding));
    }

    @BeforeContainer
    static void open() {
        setMtu(MTU_BYTES);
        device = SharedDevice.acquire(DEVICE);
        channel = device.context().createCompletionChannel();
        sender = open(DirectAccess.REQUIRED, false, StridingReceive.NEVER);
        receivers = List.of(Receiver.open(DirectAccess.NEVER, false, StridingReceive.AUTO, 1),
                Receiver.open(DirectAccess.REQUIRED, false, StridingReceive.REQUIRED, 2),
                Receiver.open(DirectAccess.REQUIRED, true, StridingReceive.REQUIRED, 3));
        assertFalse(QueueFixture.isStriding(receivers.get(0).queue));
        assertTrue(QueueFixture.isStriding(receivers.get(1).queue));
        assertFalse(QueueFixture.isCompressing(receivers.get(1).queue));
        assertTrue(QueueFixture.isStriding(receivers.get(2).queue));
        assertTrue(QueueFixture.isCompressing(receivers.get(2).queue));
    }

    private static void setMtu(int bytes) {
        try (Arena arena = Arena.ofConfined()) {
            long function = NativeLibrary.load(System.getenv("LD_PRELOAD")).findOrThrow("cxemu_set_mtu").address();
            assertEquals(0, NativeCall.status(function, arena.allocateFrom(DEVICE).address(), bytes));
        }
    }

    @AfterContainer
    static void close() {
        receivers.forEach(receiver -> release(receiver, receiver.kept.size(), new Random(1)));
        for (Receiver receiver : receivers.subList(1, receivers.size())) {
            assertEquals(receiver.queue.slots().strideLayout().chunkCount(),
                    receiver.queue.slots().availableChunks() + QueueFixture.postedReceives(receiver.queue), "chunks");
            assertTrue(receiver.queue.counters().copiedOutFrames > 0, "no frame was copied because others were kept");
        }
        receivers.forEach(receiver -> receiver.queue.close());
        sender.close();
        channel.close();
        device.release();
        setMtu(USUAL_MTU_BYTES);
        assertTrue(spanning > 1000, "only " + spanning + " frames of several strides");
    }

    @Property(tries = 300)
    void sameFrames(@ForAll @IntRange(min = 1, max = MAX_BURST) int burst, @ForAll @IntRange(max = 10) int turn,
            @ForAll @IntRange(max = 2) int lengths, @ForAll long seed) {
        int keep = turn == 0 ? 0 : MAX_KEPT;
        List<String> expected = null;
        for (Receiver receiver : receivers) {
            send(receiver.mac, burst, lengths, new Random(seed));
            List<String> frames = receive(receiver, burst);
            if (expected == null) {
                expected = frames;
            }
            assertEquals(expected, frames);
            release(receiver, receiver.kept.size() - keep, new Random(seed));
        }
    }

    private static void send(byte mac, int burst, int lengths, Random random) {
        for (int i = 0; i < burst; i++) {
            assertEquals(FrameQueue.ACCEPTED, sender.offer(frame(mac, length(lengths, random), random)));
        }
        assertEquals(0, sender.post());
    }

    /** Returns a short length, any length, or one that ends at a stride boundary. */
    private static int length(int kind, Random random) {
        return switch (kind) {
            case 0 -> 60 + random.nextInt(1400);
            case 1 -> 60 + random.nextInt(MTU_BYTES + 14 - 60);
            default -> 2048 * (1 + random.nextInt(4)) + random.nextInt(3) - 1;
        };
    }

    /** Creates a UDP datagram with a correct IPv4 checksum and no UDP checksum, sometimes another frame. */
    private static ByteBuf frame(byte mac, int lengthBytes, Random random) {
        byte[] bytes = new byte[lengthBytes];
        random.nextBytes(bytes);
        Arrays.fill(bytes, 0, Math.min(64, lengthBytes), (byte) 0);
        ByteBuf frame = Unpooled.wrappedBuffer(bytes);
        frame.setByte(0, 2).setByte(4, 0x57).setByte(5, mac).setByte(6, 2);
        frame.setShort(12, random.nextInt(8) == 0 ? 0x88b5 : 0x0800);
        frame.setInt(14, 0x4500_0000 | lengthBytes - 14).setInt(22, 0x4011_0000).setInt(38, lengthBytes - 34 << 16);
        int sum = 0x4500 + lengthBytes - 14 + 0x4011;
        frame.setShort(24, ~((sum & 0xffff) + (sum >>> 16)) & 0xffff);
        spanning += lengthBytes > 2048 ? 1 : 0;
        return frame;
    }

    private static List<String> receive(Receiver receiver, int count) {
        List<String> frames = new ArrayList<>();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (frames.size() < count || sender.inFlight() > 0) {
            int received = receiver.queue.receive(BURST);
            for (int i = 0; i < received; i++) {
                ByteBuf frame = BURST.takeFrame(i);
                receiver.kept.add(frame);
                receiver.sums.add(sum(frame));
                frames.add(frame.readableBytes() + " bytes, sum " + Long.toHexString(sum(frame)) + ", tag "
                        + BURST.flowTag(i) + (BURST.checksumVerified(i) ? ", checksum right" : ""));
            }
            sender.reclaim();
            assertTrue(!receiver.queue.failed() && !sender.failed() && System.nanoTime() < deadline,
                    () -> frames.size() + " of " + count + " frames; failed: " + receiver.queue.failed());
        }
        return frames;
    }

    /** Sums all bytes except the destination MAC address. */
    private static long sum(ByteBuf frame) {
        CRC32 sum = new CRC32();
        sum.update(frame.nioBuffer(6, frame.readableBytes() - 6));
        return sum.getValue();
    }

    /** Releases frames in random order. */
    private static void release(Receiver receiver, int count, Random random) {
        for (int i = 0; i < count; i++) {
            int index = random.nextInt(receiver.kept.size());
            ByteBuf frame = receiver.kept.remove(index);
            assertEquals(receiver.sums.remove(index), sum(frame), "a frame that was kept was written to");
            frame.release();
        }
    }

    @Example
    void requiredStridingReceiveIsRefusedWithReason() {
        String message = assertThrows(UnsupportedOperationException.class,
                () -> open(DirectAccess.NEVER, false, StridingReceive.REQUIRED)).getMessage();
        assertTrue(message.contains("striding receive queues are required, but the rings of mlx5_0 are not used in"
                + " place"),
                message);
    }
}
