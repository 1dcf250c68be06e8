package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.QueueFixture;
import io.rdmaraw.queue.SharedDevice;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Injects device faults at random moments while frames pass between two pairs of channels, each on its own loops, and
 * connections carry data on a second device. Queue faults hit the first pair and the connections only, so the second
 * pair must not lose a frame.
 *
 * Each frame of the pairs is either received once and intact, or counted as lost. All bytes of the connections come
 * back in order. No slot is lost and nothing hangs.
 */
@Tag("emulated")
class FaultRunTest {
    private static final int SEEDS = Integer.getInteger("io.rdmaraw.test.faultSeeds", 3);
    private static final String SECOND_DEVICE = "mlx5_1";
    private static final int ROUNDS = 8;
    private static final byte[] C = {2, 0, 0, 0, 0, 0xc};
    private static final byte[] D = {2, 0, 0, 0, 0, 0xd};

    private final LoopDevice device = new LoopDevice();
    private SharedDevice shared;
    private EmulatedFaults faults;
    private FramePair struck;
    private FramePair other;

    @BeforeEach
    void open() {
        shared = SharedDevice.acquire(device.name);
        faults = new EmulatedFaults(shared.context().deviceName());
        struck = new FramePair(device, LoopDevice.A, LoopDevice.B);
        other = new FramePair(device, C, D);
    }

    @AfterEach
    void close() {
        faults.failNoCommands();
        struck.close();
        other.close();
        shared.release();
        faults.restore();
    }

    static long[] seeds() {
        return new Random().longs(SEEDS).toArray();
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void everyFrameIsReceivedOrCountedAndNoByteIsLost(long seed) throws Exception {
        Random random = new Random(seed);
        boolean linkGoes = random.nextInt(4) == 0;
        boolean deviceGoes = random.nextInt(6) == 0;
        Losses before = losses();
        try (StreamsUnderFaults streams = new StreamsUnderFaults(new LoopDevice(SECOND_DEVICE), random)) {
            for (int round = 0; round < ROUNDS; round++) {
                struck.send(random.nextInt(120));
                strike(random, true);
                strike(random, false);
                streams.strikeSome();
                boolean down = linkGoes && random.nextBoolean();
                if (down) {
                    faults.setPortUp(false);
                }
                other.send(random.nextInt(40));
                struck.send(random.nextInt(60));
                if (down) {
                    faults.setPortUp(true);
                }
                take();
            }
            faults.failNoCommands();
            if (deviceGoes) {
                loseDevice(random);
            }
            streams.awaitAllBack();
        }
        awaitAccount(before, linkGoes || deviceGoes);
        if (!deviceGoes) {
            struck.awaitSlots();
            other.awaitSlots();
        }
    }

    private void take() {
        struck.take();
        other.take();
    }

    /** Counters of the device: frames it has lost, and frames it has sent without a completion. */
    private record Losses(long lost, long unreported) {
    }

    private Losses losses() {
        return new Losses(faults.lostFrames(), faults.unreportedSends());
    }

    /**
     * Waits until each frame is received, or counted as lost by the device or a queue. A queue counts a send without a
     * completion as lost although the device may have transmitted it; the device's counter corrects this. With
     * libmlx5's own calls, a reset also discards unread send completions, so some frames counted as lost may have been
     * received.
     */
    private void awaitAccount(Losses before, boolean bothSuffer) {
        long endNanos = System.nanoTime() + Patience.NANOS;
        long sent;
        long accounted;
        long maySurplus;
        do {
            take();
            Losses now = losses();
            long lost = now.lost - before.lost - (now.unreported - before.unreported) + struck.counted();
            sent = struck.sent;
            accounted = struck.received + lost;
            if (bothSuffer) {
                sent += other.sent;
                accounted += other.received + other.counted();
            }
            maySurplus = QueueFixture.isDirect(struck.queueOf(false)) ? 0 : struck.lostInFlight();
        } while ((accounted < sent || accounted > sent + maySurplus || !bothSuffer && other.received != other.sent)
                && System.nanoTime() - endNanos < 0);
        String account = struck + "; " + other + "; " + losses() + " since " + before;
        if (maySurplus == 0) {
            assertEquals(sent, accounted, account);
        }
        assertTrue(accounted >= sent && accounted <= sent + maySurplus, account);
        if (!bothSuffer) {
            assertEquals(other.sent, other.received, "frames of channels that no fault was meant for");
            assertEquals(0, other.counted());
        }
        assertEquals(0, other.recoveries());
    }

    /** Pending and new writes fail, and all channels close after their received frames have been delivered. */
    private void loseDevice(Random random) throws InterruptedException {
        struck.send(random.nextInt(60));
        other.send(random.nextInt(60));
        faults.failDevice();
        for (FramePair pair : List.of(struck, other)) {
            pair.sendToNobody(1 + random.nextInt(20));
            assertTrue(pair.receiver.closeFuture().await(Patience.NANOS, TimeUnit.NANOSECONDS), "a receiver hangs");
            assertTrue(pair.sender.closeFuture().await(Patience.NANOS, TimeUnit.NANOSECONDS), "a sender hangs");
            assertFalse(pair.sender.isActive());
        }
    }

    private void strike(Random random, boolean receive) throws InterruptedException {
        FramePair pair = struck;
        RdmaRawChannel channel = receive ? pair.receiver : pair.sender;
        // Runs on the loop, because a queue that is being replaced has no number on the device.
        int number = channel.eventLoop().submit(() -> {
            FrameQueue queue = pair.queueOf(receive);
            RandomFaults.strike(faults, queue, receive, random);
            return EmulatedFaults.number(queue, receive);
        }).sync().getNow();
        if (random.nextInt(3) == 0) {
            // A second fault hits the queue during its reset, restart or replacement.
            faults.failNextCompletionOf(number, receive, RandomFaults.syndrome(random));
        }
        if (random.nextInt(4) == 0) {
            RandomFaults.failCommands(faults, random);
        }
    }

    /** The receiver's loop is busy until the device has gone, and then learns of the removal before it polls. */
    @Test
    void receivedFramesAreDeliveredBeforeChannelCloses() throws InterruptedException {
        struck.receiver.eventLoop().submit(() -> {
            long before = faults.receivedFrames();
            struck.send(40);
            long endNanos = System.nanoTime() + Patience.NANOS;
            while (faults.receivedFrames() < before + 40 && System.nanoTime() - endNanos < 0) {
                Thread.onSpinWait();
            }
            faults.failDevice();
            return struck.sender.closeFuture().await(Patience.NANOS, TimeUnit.NANOSECONDS);
        }).sync();
        assertTrue(struck.receiver.closeFuture().await(Patience.NANOS, TimeUnit.NANOSECONDS), "a receiver hangs");
        struck.take();
        assertEquals(40, struck.received);
    }

    /** A second fault hits the queue between two steps of its recovery. */
    @Test
    void queueFailingDuringStartIsReplacedAgain() throws InterruptedException {
        struck.send(1);
        struck.receiver.eventLoop().submit(() -> {
            faults.failCommands(RandomFaults.MODIFY_QP, Errno.EINVAL, 2);
            faults.overrunCompletions(struck.queueOf(true), true);
        }).sync();
        awaitWorks();
    }

    /** The kernel is temporarily out of memory. */
    @Test
    void failedReplacementIsRetried() throws InterruptedException {
        for (int command : RandomFaults.COMMANDS) {
            struck.send(1);
            struck.receiver.eventLoop().submit(() -> {
                faults.failCommands(command, Errno.ENOMEM, 2);
                faults.overrunCompletions(struck.queueOf(true), true);
            }).sync();
            awaitWorks();
        }
    }

    /** Several recovery attempts fail. Frames written in that time are sent when the queue works again. */
    @Test
    void framesWaitUntilQueueCanBeStarted() throws InterruptedException {
        FrameQueue queue = struck.queueOf(false);
        struck.sender.eventLoop().submit(() -> {
            faults.failCommands(RandomFaults.MODIFY_QP, Errno.ENOMEM, 7);
            faults.overrunCompletions(queue, false);
        }).sync();
        long endNanos = System.nanoTime() + Patience.NANOS;
        while (!struck.sender.eventLoop().submit(queue::needsNewQueues).sync().getNow()
                && System.nanoTime() - endNanos < 0) {
            Thread.onSpinWait();
        }
        struck.send(10);
        while (struck.received < 10 && System.nanoTime() - endNanos < 0) {
            struck.take();
        }
        assertEquals(10, struck.received, struck::toString);
        assertEquals(1, struck.recoveries());
        struck.awaitSlots();
    }

    private void awaitWorks() throws InterruptedException {
        Object event;
        do {
            event = struck.handler.takeEvent();
        } while (((RdmaRawQueueEvent) event).kind() != RdmaRawQueueEvent.Kind.QUEUE_RECOVERED);
        assertTrue(struck.receiver.isActive());
        faults.failNoCommands();
        struck.mark();
        struck.send(10);
        long endNanos = System.nanoTime() + Patience.NANOS;
        while (struck.receivedSinceMark() < 10 && System.nanoTime() - endNanos < 0) {
            struck.take();
        }
        assertEquals(10, struck.receivedSinceMark(), "frames after the recovery");
        struck.awaitSlots();
    }
}
