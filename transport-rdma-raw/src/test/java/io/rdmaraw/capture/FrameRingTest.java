package io.rdmaraw.capture;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Random;

class FrameRingTest {
    private static final int RING_BYTES = 4096;
    private static final int MAX_FRAME_BYTES = 1500;

    private record Frame(long timeNanos, byte[] bytes, boolean sent, String reason, String channel) {
    }

    private final Random random = new Random(3);
    private final FrameRing ring = new FrameRing(RING_BYTES, MAX_FRAME_BYTES);
    private final ArrayDeque<Frame> expected = new ArrayDeque<>();

    private boolean add(Frame frame) {
        int index = ring.reserve(frame.bytes.length);
        if (index < 0) {
            return false;
        }
        System.arraycopy(frame.bytes, 0, ring.array(), index, frame.bytes.length);
        boolean channelLate = random.nextBoolean();
        long position = ring.publish(frame.timeNanos, frame.bytes.length, frame.bytes.length + 7, frame.sent,
                channelLate ? "" : frame.channel);
        ring.setReason(position, frame.reason);
        ring.setChannel(position, channelLate ? frame.channel : "ignored");
        expected.add(frame);
        return true;
    }

    private void remove() {
        Frame frame = expected.remove();
        assertEquals(frame.timeNanos, ring.oldestNanos());
        int length = FrameRing.REMOVED_HEADER_BYTES + frame.reason.length() + frame.channel.length()
                + frame.bytes.length;
        assertTrue(length <= ring.occupiedBytes());
        assertFalse(ring.removeTo(ByteBuffer.allocate(length - 1), 5));
        ByteBuffer out = ByteBuffer.allocate(length);
        assertTrue(ring.removeTo(out, 5));
        out.flip();
        assertEquals(5 << 1 | (frame.sent ? 1 : 0), out.getInt());
        assertEquals(frame.bytes.length, out.getInt());
        assertEquals(frame.bytes.length + 7, out.getInt());
        assertEquals(frame.timeNanos, out.getLong());
        assertEquals(frame.reason, text(out));
        assertEquals(frame.channel, text(out));
        byte[] bytes = new byte[out.remaining()];
        out.get(bytes);
        assertArrayEquals(frame.bytes, bytes);
    }

    private static String text(ByteBuffer in) {
        byte[] bytes = new byte[in.get()];
        in.get(bytes);
        return new String(bytes, StandardCharsets.US_ASCII);
    }

    /** Returns a text of one character to all that its field holds. */
    private String randomText(int fieldBytes) {
        return "x".repeat(1 + random.nextInt(fieldBytes));
    }

    @Test
    void framesLeaveInOrderAcrossTheEndOfTheRing() {
        int refused = 0;
        for (int i = 0; i < 100_000; i++) {
            if (random.nextBoolean()) {
                byte[] bytes = new byte[random.nextInt(MAX_FRAME_BYTES + 1)];
                random.nextBytes(bytes);
                refused += add(new Frame(i, bytes, random.nextBoolean(), randomText(24),
                        randomText(16))) ? 0 : 1;
            } else if (!expected.isEmpty()) {
                remove();
            }
        }
        assertTrue(refused > 1000, "the ring was hardly ever full");
        while (!expected.isEmpty()) {
            remove();
        }
        assertEquals(Long.MAX_VALUE, ring.oldestNanos());
        assertEquals(0, ring.occupiedBytes());
    }

    @Test
    void ringHoldsTwoFramesOfMaximumLength() {
        FrameRing small = new FrameRing(1, MAX_FRAME_BYTES);
        for (int i = 0; i < 2; i++) {
            assertTrue(small.reserve(MAX_FRAME_BYTES) >= 0);
            small.publish(1, MAX_FRAME_BYTES, MAX_FRAME_BYTES, false, "");
        }
    }

    @Test
    void reasonOfAnOverwrittenRecordChangesNothing() {
        FrameRing small = new FrameRing(256, 64);
        ByteBuffer out = ByteBuffer.allocate(RING_BYTES);
        small.reserve(64);
        long first = small.publish(1, 64, 64, false, "");
        for (int i = 0; i < 2; i++) {
            assertTrue(small.removeTo(out.clear(), 0));
            small.reserve(64);
            small.publish(1, 64, 64, false, "");
        }
        small.setReason(first, "late");
        small.setChannel(first, "late");
        assertTrue(small.removeTo(out.clear(), 0));
        assertEquals(FrameRing.REMOVED_HEADER_BYTES + 64, out.position());
    }

    /** The consumer may read while the producer writes a reason. It then finds the first characters only. */
    @Test
    void textsOfAnOlderRecordAreErased() {
        FrameRing small = new FrameRing(256, 64);
        ByteBuffer out = ByteBuffer.allocate(RING_BYTES);
        int[] starts = new int[3];
        for (int i = 0; i < starts.length; i++) {
            starts[i] = small.reserve(64) - FrameRing.HEADER_BYTES;
            long position = small.publish(1, 64, 64, false, i == 0 ? "z".repeat(16) : "");
            if (i == 0) {
                small.setReason(position, "z".repeat(24));
            }
            assertTrue(small.removeTo(out.clear(), 0));
        }
        assertEquals(starts[0], starts[2]);
        for (int i = 24; i < FrameRing.HEADER_BYTES; i++) {
            assertEquals(0, small.array()[starts[2] + i], "byte " + i);
        }
    }

    @Test
    void framesPassBetweenTwoThreads() throws InterruptedException {
        int count = 10_000;
        Thread producer = Thread.ofPlatform().daemon().start(() -> {
            for (int i = 0; i < count; i++) {
                int length = 8 + i % 100;
                int index = ring.reserve(length);
                while (index < 0) {
                    Thread.yield();
                    index = ring.reserve(length);
                }
                ByteBuffer.wrap(ring.array()).putLong(index, i);
                ring.publish(i, length, length, false, "");
            }
        });
        ByteBuffer out = ByteBuffer.allocate(MAX_FRAME_BYTES);
        for (int i = 0; i < count; i++) {
            while (ring.oldestNanos() == Long.MAX_VALUE) {
                Thread.yield();
            }
            assertEquals(i, ring.oldestNanos());
            assertTrue(ring.removeTo(out.clear(), 0));
            assertEquals(i, out.getLong(FrameRing.REMOVED_HEADER_BYTES));
        }
        producer.join();
    }
}
