package io.rdmaraw.capture;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.util.concurrent.DefaultEventExecutor;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.RejectedExecutionHandlers;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.ResourceLock;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

@Timeout(60)
@ResourceLock("io.rdmaraw.capture")
class FrameCaptureTest {
    private static final int SNAP_BYTES = 1000;
    private static final int BUFFER_BYTES = 1 << 16;
    private static final long NO_LEASE = 1;
    private static final long LEASE_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final Arena arena = Arena.ofAuto();
    private final List<TestPoint> open = new ArrayList<>();
    private final List<CapturedFrames> started = new ArrayList<>();

    /** A queue that runs its tasks at once. */
    private final class TestPoint {
        private final CapturePoint point;
        private volatile FrameTap tap;

        private TestPoint(String device) {
            open.add(this);
            point = CapturePoint.open(device, 1, Runnable::run, newTap -> tap = newTap);
        }

        /** Passes a frame of the given pieces. */
        private void pass(boolean sent, byte[]... pieces) {
            tap.begin();
            frame(sent, pieces);
            tap.end();
        }

        private long frame(boolean sent, byte[]... pieces) {
            for (byte[] piece : pieces) {
                MemorySegment memory = arena.allocateFrom(ValueLayout.JAVA_BYTE, piece);
                tap.add(memory.address(), piece.length);
            }
            return tap.endFrame(sent);
        }
    }

    @AfterEach
    void closeAll() {
        started.forEach(CapturedFrames::close);
        open.forEach(each -> each.point.close());
    }

    private static byte[] bytes(int length, int first) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (first + i);
        }
        return bytes;
    }

    private CapturedFrames start(long... filter) {
        return read(FrameCapture.start(filter, SNAP_BYTES, BUFFER_BYTES));
    }

    private CapturedFrames read(long id) {
        CapturedFrames captured = new CapturedFrames(id);
        started.add(captured);
        return captured;
    }

    @Test
    void framesOfAllQueuesAreOrderedByTime() {
        TestPoint first = new TestPoint("first");
        CapturedFrames captured = start();
        TestPoint second = new TestPoint("second");
        for (int i = 0; i < 50; i++) {
            (i % 3 == 0 ? first : second).pass(i % 2 == 0, bytes(60, i));
        }
        second.pass(true, bytes(600, 0), bytes(600, 88));
        captured.read();
        assertEquals(51, captured.frames().size());
        for (int i = 0; i < 50; i++) {
            CapturedFrames.Frame frame = captured.frames().get(i);
            assertArrayEquals(bytes(60, i), frame.bytes());
            assertEquals(i % 3 == 0 ? "first" : "second", captured.points().get(frame.point()).split(" ")[0]);
            assertEquals(i % 2 == 0, frame.sent());
        }
        assertArrayEquals(bytes(SNAP_BYTES, 0), captured.frames().get(50).bytes());
        assertEquals(1200, captured.frames().get(50).lengthBytes());
        captured.stop();
        assertNull(first.tap);
        assertNull(second.tap);
        assertFalse(FrameCapture.isRunning());
    }

    /** A frame of another queue may be older than those of the burst that a loop is passing. */
    @Test
    void framesAfterAnUnfinishedBurstWaitForItsEnd() {
        TestPoint first = new TestPoint("first");
        TestPoint second = new TestPoint("second");
        CapturedFrames captured = start();
        first.tap.begin();
        first.frame(false, bytes(60, 1));
        second.pass(false, bytes(60, 3));
        assertEquals(1, captured.read().frames().size());
        first.frame(false, bytes(60, 2));
        first.tap.end();
        captured.stop();
        for (int i = 0; i < 3; i++) {
            assertArrayEquals(bytes(60, i + 1), captured.frames().get(i).bytes());
        }
    }

    /** The loop finds out why a frame is dropped after it was captured. */
    @Test
    void framesOfABurstAreReadWithTheirReasonsAfterItsEnd() {
        TestPoint point = new TestPoint("burst");
        CapturedFrames captured = start();
        point.tap.setChannelIds((address, length, sent) -> sent ? "sender" : null);
        point.tap.setMaxBurstNanos(TimeUnit.MINUTES.toNanos(1));
        assertTrue(point.tap.beginBurst());
        long first = point.frame(false, bytes(60, 1));
        long second = point.frame(false, bytes(60, 2));
        point.tap.end();
        assertEquals(0, captured.read().frames().size());
        point.tap.setReason(second, "not-read");
        point.pass(true, bytes(60, 3));
        point.tap.setChannel(first, "receiver");
        point.tap.endBurst();
        captured.read();
        assertEquals(List.of("", "not-read", ""),
                captured.frames().stream().map(CapturedFrames.Frame::dropReason).toList());
        assertEquals(List.of("receiver", "", "sender"),
                captured.frames().stream().map(CapturedFrames.Frame::channel).toList());
        captured.stop();
    }

    /** A handler may block the loop. Its frames, and those of other loops, are read nevertheless. */
    @Test
    void framesOfABurstThatDoesNotEndAreReadAfterAWhile() {
        TestPoint blocked = new TestPoint("blocked");
        TestPoint other = new TestPoint("other");
        CapturedFrames captured = start();
        assertTrue(blocked.tap.beginBurst());
        blocked.frame(false, bytes(60, 1));
        blocked.tap.end();
        other.pass(false, bytes(60, 2));
        while (captured.read().frames().size() < 2) {
            Thread.onSpinWait();
        }
        assertArrayEquals(bytes(60, 1), captured.frames().get(0).bytes());
        captured.stop();
    }

    /** The frames of all loops wait for the loop that is blocked. */
    @Test
    void blockedLoopHoldsFramesBackForATenthOfASecond() {
        TestPoint blocked = new TestPoint("blocked");
        CapturedFrames captured = start();
        assertTrue(blocked.tap.beginBurst());
        long laterNanos = Long.MAX_VALUE / 2;
        assertEquals(TimeUnit.MILLISECONDS.toNanos(100), laterNanos - blocked.tap.safeUntilNanos(laterNanos));
        blocked.tap.end();
        captured.stop();
    }

    @Test
    void filterSeesTheFirstBytesOfAllPieces() {
        TestPoint point = new TestPoint("filtered");
        // ldb [70]; ret a
        CapturedFrames captured = start(70L << 32 | 0x30, 0x16);
        byte[] matching = new byte[40];
        matching[30] = 1;
        point.pass(true, new byte[40], matching);
        point.pass(true, new byte[40], new byte[40]);
        point.pass(false, bytes(80, 1));
        point.pass(false, new byte[70]);
        captured.stop();
        assertEquals(List.of(true, false), captured.frames().stream().map(CapturedFrames.Frame::sent).toList());
        assertEquals(4, captured.seen("filtered"));
    }

    @Test
    void framesBeyondTheBufferAreCounted() {
        TestPoint point = new TestPoint("full");
        CapturedFrames captured = start();
        int count = 2 * BUFFER_BYTES / SNAP_BYTES;
        for (int i = 0; i < count; i++) {
            point.pass(false, bytes(SNAP_BYTES, i));
        }
        captured.read();
        point.pass(false, bytes(SNAP_BYTES, 99));
        captured.stop();
        assertEquals(count + 1, captured.seen("full"));
        int fitting = BUFFER_BYTES / (SNAP_BYTES + FrameRing.HEADER_BYTES);
        assertEquals(count - fitting, captured.dropped("full"), 1, captured.dropped("full") + " of " + count);
        assertEquals(count + 1 - captured.dropped("full"), captured.frames().size());
        assertArrayEquals(bytes(SNAP_BYTES, 99), captured.frames().getLast().bytes());
    }

    @Test
    void secondCaptureIsRefusedUntilTheFirstOneEnds() {
        CapturedFrames captured = start();
        assertTrue(assertThrows(IllegalStateException.class, this::start).getMessage()
                .startsWith("another dump captures from this process"));
        captured.stop();
        assertThrows(IllegalStateException.class, captured::read);
        start().stop();
    }

    @Test
    void captureEndsWhenNoOneReads() throws InterruptedException {
        TestPoint point = new TestPoint("abandoned");
        long id = FrameCapture.start(new long[0], SNAP_BYTES, BUFFER_BYTES, NO_LEASE, Long.MAX_VALUE);
        while (FrameCapture.isRunning()) {
            Thread.yield();
        }
        assertNull(point.tap);
        assertThrows(IllegalStateException.class, () -> FrameCapture.renew(id));
        CapturedFrames next = start();
        assertNotNull(point.tap);
        next.stop();
    }

    @Test
    void captureThatNeedsTooMuchOfTheHeapIsRefused() {
        int bufferBytes = 1 << 26;
        int queues = (int) (Runtime.getRuntime().maxMemory() / 8 / bufferBytes) + 1;
        for (int i = 0; i < queues; i++) {
            new TestPoint("many");
        }
        assertTrue(assertThrows(IllegalStateException.class,
                () -> FrameCapture.start(new long[0], SNAP_BYTES, bufferBytes)).getMessage().contains("reduce -B"));
        start().stop();
    }

    @Test
    void invalidArgumentsStartNothing() {
        assertThrows(IllegalArgumentException.class, () -> FrameCapture.start(new long[1], SNAP_BYTES, BUFFER_BYTES));
        assertThrows(IllegalArgumentException.class, () -> FrameCapture.start(new long[0], 0, BUFFER_BYTES));
        assertThrows(IllegalArgumentException.class, () -> FrameCapture.start(new long[0], SNAP_BYTES, 1 << 30));
        assertFalse(FrameCapture.isRunning());
    }

    private CapturedFrames startWithRoomForOneRing() {
        return read(FrameCapture.start(new long[0], SNAP_BYTES, BUFFER_BYTES, LEASE_NANOS,
                FrameRing.capacityBytes(BUFFER_BYTES, SNAP_BYTES)));
    }

    @Test
    void queueWithoutRoomForItsRingIsCounted() {
        TestPoint first = new TestPoint("first");
        CapturedFrames captured = startWithRoomForOneRing();
        assertEquals(0, captured.read().uncapturedQueues());
        TestPoint second = new TestPoint("second");
        assertNull(second.tap);
        assertEquals(1, captured.read().uncapturedQueues());
        assertNotNull(first.tap);
        captured.stop();
    }

    @Test
    void ringOfAClosedQueueIsReleasedWhenItsFramesAreRead() {
        TestPoint first = new TestPoint("first");
        CapturedFrames captured = startWithRoomForOneRing();
        first.pass(true, bytes(60, 1));
        first.point.close();
        assertNull(first.tap);
        assertNull(new TestPoint("tooEarly").tap);
        assertEquals(1, captured.read().frames().size());
        captured.read();
        TestPoint second = new TestPoint("second");
        second.pass(true, bytes(60, 2));
        captured.stop();
        assertArrayEquals(bytes(60, 1), captured.frames().get(0).bytes());
        assertArrayEquals(bytes(60, 2), captured.frames().get(1).bytes());
        assertEquals(1, captured.seen("first"));
    }

    @Test
    void queueWhoseCaptureFailsIsCountedAndItsEarlierFramesAreRead() {
        TestPoint point = new TestPoint("failing");
        CapturedFrames captured = start();
        point.pass(true, bytes(60, 1));
        point.tap.begin();
        point.tap.fail(new IllegalStateException("planted by a test"));
        point.tap.end();
        assertFalse(point.tap.begin());
        assertEquals(1, captured.read().uncapturedQueues());
        captured.stop();
        assertEquals(1, captured.uncapturedQueues());
        assertEquals(1, captured.frames().size());
    }

    @Test
    void queueOpensAlthoughItCannotBeCaptured() {
        CapturedFrames captured = start();
        CapturePoint point = CapturePoint.open("failing", 1, Runnable::run, tap -> {
            if (tap != null) {
                throw new AssertionError("planted by a test");
            }
        });
        try (point) {
            assertEquals(1, captured.read().uncapturedQueues());
        }
        captured.stop();
    }

    /** A loop with a bounded task queue rejects tasks while a handler blocks it. */
    @Test
    void tapIsSetAndRemovedWhenALoopRejectsTasks() throws InterruptedException {
        int maxTasks = 16;
        DefaultEventExecutor loop = new DefaultEventExecutor(null, new DefaultThreadFactory("rejecting", true),
                maxTasks, RejectedExecutionHandlers.reject());
        BlockingQueue<Optional<FrameTap>> taps = new LinkedBlockingQueue<>();
        CapturePoint point = CapturePoint.open("rejecting", 1, loop, tap -> taps.add(Optional.ofNullable(tap)));
        try (point) {
            CountDownLatch handler = block(loop, maxTasks);
            CapturedFrames captured = start();
            handler.countDown();
            assertTrue(taps.take().isPresent());
            handler = block(loop, maxTasks);
            captured.stop();
            handler.countDown();
            assertTrue(taps.take().isEmpty());
            // Both tasks are late. Each sets the tap that is wanted by then.
            handler = block(loop, maxTasks);
            start().stop();
            handler.countDown();
            assertTrue(taps.take().isEmpty());
            assertTrue(taps.take().isEmpty());
        } finally {
            loop.shutdownGracefully(0, 0, TimeUnit.SECONDS);
        }
    }

    /** Occupies a loop and its task queue until the returned latch is counted down. */
    private static CountDownLatch block(DefaultEventExecutor loop, int maxTasks) throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        loop.execute(() -> {
            begun.countDown();
            try {
                end.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        begun.await();
        for (int i = 0; i < maxTasks; i++) {
            loop.execute(() -> { });
        }
        assertThrows(RejectedExecutionException.class, () -> loop.execute(() -> { }));
        return end;
    }

    @Test
    void loopThatHasTerminatedDoesNotDelayTheEnd() {
        CapturePoint ended = CapturePoint.open("ended", 1, task -> {
            throw new RejectedExecutionException();
        }, tap -> { });
        try (ended) {
            start().stop();
        }
    }
}
