package io.rdmaraw.queue;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.rdmaraw.capture.CapturePoint;
import io.rdmaraw.capture.CapturedFrames;
import io.rdmaraw.capture.FailingTap;
import io.rdmaraw.capture.FrameCapture;
import io.rdmaraw.capture.FrameTap;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.CompletionChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.ResourceLock;

/** Captures frames that a queue sends to itself, and compares them with the received frames. */
@Timeout(60)
@ResourceLock("io.rdmaraw.capture")
class CapturedSendsTest {
    private static final String DEVICE = System.getProperty("io.rdmaraw.test.device", "soft:loop:captured-sends");
    private static final byte[] MAC = {2, 0, 0, 0, 0x0c, 1};
    private static final int SNAP_BYTES = 4000;
    private static final int BUFFER_BYTES = 1 << 20;
    private static final int HEADER_BYTES = 54;

    private final Random random = new Random(11);
    private final ReceiveBurst burst = new ReceiveBurst();
    private final List<byte[]> received = new ArrayList<>();
    private SharedDevice device;
    private CompletionChannel channel;
    private FrameQueue queue;
    private CapturePoint point;
    private CapturedFrames captured;

    @BeforeEach
    void open() {
        device = SharedDevice.acquire(DEVICE);
        channel = device.context().createCompletionChannel();
        queue = FrameQueue.open(device, device.context().ownPort(), channel, new FrameQueueOptions(512, 256, 8, 1024,
                2048, DirectAccess.ofProperty(), false, StridingReceive.ofProperty()));
        queue.steer(FlowSpec.builder().destinationMac(MAC).build());
        point = CapturePoint.open(device.name(), 1, Runnable::run, queue::setTap);
        start();
    }

    private void start() {
        captured = new CapturedFrames(FrameCapture.start(new long[0], SNAP_BYTES, BUFFER_BYTES));
    }

    @AfterEach
    void close() {
        captured.close();
        point.close();
        queue.close();
        channel.close();
        device.release();
    }

    private byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    /** Returns a frame of an experimental ethertype to this queue, or its first bytes. */
    private byte[] frame(int length) {
        byte[] frame = bytes(length);
        System.arraycopy(MAC, 0, frame, 0, 6);
        frame[6] = 2;
        frame[12] = (byte) 0x88;
        frame[13] = (byte) 0xb5;
        return frame;
    }

    private FrameBuf slot(byte[] bytes) {
        FrameBuf slot = queue.slots().acquire();
        slot.writeBytes(bytes);
        return slot;
    }

    private void receive(int count) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        int end = received.size() + count;
        while (received.size() < end || queue.inFlight() > 0) {
            int frames = queue.receive(burst);
            for (int i = 0; i < frames; i++) {
                ByteBuf frame = burst.takeFrame(i);
                byte[] bytes = new byte[frame.readableBytes()];
                frame.readBytes(bytes);
                received.add(bytes);
                frame.release();
            }
            queue.reclaim();
            assertTrue(System.nanoTime() < deadline, received.size() + " of " + end);
        }
    }

    private void offer(ByteBuf frame) {
        assertEquals(FrameQueue.ACCEPTED, queue.offer(frame));
    }

    private void offerParts(byte[] headers, int count) {
        ByteBuf[] buffers = new ByteBuf[count];
        int[] indices = new int[count];
        int[] lengths = new int[count];
        for (int i = 0; i < count; i++) {
            buffers[i] = slot(bytes(300));
            indices[i] = random.nextInt(100);
            lengths[i] = 1 + random.nextInt(200);
        }
        assertEquals(FrameQueue.ACCEPTED, queue.offer(slot(headers), buffers, indices, lengths, count, false));
    }

    /** Compares the captured frames of both directions with the received ones. */
    private void check(int from) {
        captured.stop();
        for (boolean sent : new boolean[] {true, false}) {
            List<byte[]> bytes = captured.frames().stream().filter(frame -> frame.sent() == sent)
                    .map(CapturedFrames.Frame::bytes).toList();
            assertEquals(received.size() - from, bytes.size());
            for (int i = 0; i < bytes.size(); i++) {
                assertArrayEquals(received.get(from + i), bytes.get(i), "frame " + i + ", sent: " + sent);
            }
        }
    }

    @Test
    void framesOfAllFormsAreCapturedAsTheyAreReceived() {
        for (int round = 0; round < 50; round++) {
            offer(slot(frame(60 + random.nextInt(1000))));
            offer(slot(frame(14 + random.nextInt(46))));
            offer(Unpooled.wrappedBuffer(frame(30 + random.nextInt(100))));
            CompositeByteBuf composite = Unpooled.compositeBuffer().addComponents(true, slot(frame(20)),
                    slot(bytes(10 + random.nextInt(300))), slot(bytes(1 + random.nextInt(300))));
            offer(composite);
            assertEquals(FrameQueue.ACCEPTED, queue.offer(slot(frame(42)), slot(bytes(random.nextInt(500))), false));
            CompositeByteBuf payload = Unpooled.compositeBuffer().addComponents(true, slot(bytes(50)),
                    slot(bytes(70)));
            payload.skipBytes(random.nextInt(100));
            assertEquals(FrameQueue.ACCEPTED, queue.offer(slot(frame(42)), payload, false));
            offerParts(frame(30), 1);
            offerParts(frame(54), 1 + random.nextInt(5));
            FrameBuf listed = slot(frame(100));
            assertEquals(1, queue.offerSlots(new int[] {listed.slotIndex()}, 0, 1));
            assertEquals(0, queue.post());
            receive(9);
        }
        check(0);
        assertEquals(2 * 450, captured.seen(device.name()));
    }

    @Test
    void captureBeginsWithTheNextFrameThatIsOffered() {
        captured.stop();
        offer(slot(frame(70)));
        offerParts(frame(54), 3);
        start();
        offerParts(frame(54), 2);
        offer(slot(frame(80)));
        assertEquals(0, queue.post());
        receive(4);
        offer(slot(frame(90)));
        assertEquals(0, queue.post());
        receive(1);
        captured.stop();
        assertEquals(List.of(true, true, false, false, false, false, true, false),
                captured.frames().stream().map(CapturedFrames.Frame::sent).toList());
        assertArrayEquals(received.get(2), captured.frames().get(0).bytes());
        assertArrayEquals(received.get(3), captured.frames().get(1).bytes());
        assertArrayEquals(received.get(4), captured.frames().get(6).bytes());
    }

    /** A released frame may be another one, or unmapped memory, when the burst is posted. */
    @Test
    void capturedBytesAreThoseOfTheOfferAlthoughAHandlerReleasesTheFrame() {
        byte[] inSlot = frame(100);
        FrameBuf slot = slot(inSlot);
        offer(slot);
        byte[] inComposite = frame(200);
        CompositeByteBuf composite = Unpooled.compositeBuffer().addComponents(true,
                slot(Arrays.copyOf(inComposite, 80)), slot(Arrays.copyOfRange(inComposite, 80, 200)));
        offer(composite);
        byte[] withPayload = frame(300);
        FrameBuf headers = slot(Arrays.copyOf(withPayload, 42));
        assertEquals(FrameQueue.ACCEPTED,
                queue.offer(headers, slot(Arrays.copyOfRange(withPayload, 42, 300)), false));
        slot.release();
        composite.release();
        headers.release();
        assertEquals(0, queue.post());
        receive(3);
        assertEquals(3, queue.counters().releasedEarlyFrames);
        offer(slot(frame(90)));
        assertEquals(0, queue.post());
        receive(1);
        captured.stop();
        List<byte[]> sent = captured.frames().stream().filter(CapturedFrames.Frame::sent)
                .map(CapturedFrames.Frame::bytes).toList();
        assertEquals(4, sent.size());
        assertArrayEquals(inSlot, sent.get(0));
        assertArrayEquals(inComposite, sent.get(1));
        assertArrayEquals(withPayload, sent.get(2));
        assertArrayEquals(received.getLast(), sent.get(3));
    }

    @Test
    void failureOfACaptureDoesNotAffectTraffic() {
        FrameTap failing = FailingTap.create();
        queue.setTap(failing);
        for (int i = 0; i < 3; i++) {
            offer(slot(frame(100)));
            offer(slot(frame(20)));
            offerParts(frame(54), 3);
            assertEquals(0, queue.post());
            receive(3);
        }
        assertFalse(failing.begin());
        queue.setTap(FailingTap.create());
        offer(slot(frame(70)));
        queue.setTap(FailingTap.create());
        assertEquals(0, queue.post());
        receive(1);
        assertEquals(10, received.size());
    }

    @Test
    void payloadThatTheDeviceSegmentsIsOneFrame() {
        if (queue.maxTsoBytes() == 0) {
            // Through libmlx5; see OffloadTest.
            return;
        }
        byte[] headers = new byte[HEADER_BYTES];
        System.arraycopy(frame(14), 0, headers, 0, 12);
        headers[12] = 8;
        headers[13] = 0;
        headers[14] = 0x45;
        headers[23] = 6;
        headers[46] = 0x50;
        ByteBuf[] buffers = {slot(bytes(1500)), slot(bytes(1500))};
        byte[] payload = new byte[2900];
        buffers[0].getBytes(100, payload, 0, 1400);
        buffers[1].getBytes(0, payload, 1400, 1500);
        assertEquals(FrameQueue.ACCEPTED, queue.offerTso(slot(headers), buffers, new int[] {100, 0},
                new int[] {1400, 1500}, 2, 1000));
        assertEquals(0, queue.post());
        receive(3);
        captured.stop();
        CapturedFrames.Frame sent = captured.frames().getFirst();
        assertTrue(sent.sent());
        assertEquals(HEADER_BYTES + 2900, sent.lengthBytes());
        byte[] expected = new byte[sent.lengthBytes()];
        System.arraycopy(headers, 0, expected, 0, HEADER_BYTES);
        System.arraycopy(payload, 0, expected, HEADER_BYTES, payload.length);
        assertArrayEquals(expected, sent.bytes());
        assertEquals(4, captured.frames().size());
    }
}
