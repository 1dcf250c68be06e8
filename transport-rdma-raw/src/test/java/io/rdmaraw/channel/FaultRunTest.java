package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFuture;
import io.rdmaraw.ffi.Errno;
import io.rdmaraw.queue.QueueCounters;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.queue.VerbsFrameQueue;
import io.rdmaraw.verbs.abi.WcStatus;
import java.util.ArrayList;
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
 * Faults of the device at random moments, while frames pass between two pairs of channels on loops of their own. The
 * faults are of the first pair's queues: every frame of it is received once and whole, or counted by someone. No frame
 * of the second pair is lost, and its queues are not reset. No slot is lost.
 *
 * <p>By rings alone: in libmlx5's mode a reset takes completions out of the queue that nobody has seen.
 */
@Tag("emulated")
class FaultRunTest {
    private static final int SEEDS = Integer.getInteger("io.rdmaraw.test.faultSeeds", 3);
    /** {@code IB_USER_VERBS_CMD_MODIFY_QP}. */
    private static final int MODIFY_QP = 26;
    private static final int ROUNDS = 8;
    private static final int FRAME_BYTES = 64;
    private static final byte[] C = {2, 0, 0, 0, 0, 0xc};
    private static final byte[] D = {2, 0, 0, 0, 0, 0xd};
    private static final int[] STATUSES = {WcStatus.LOC_LEN_ERR, WcStatus.LOC_QP_OP_ERR, WcStatus.LOC_PROT_ERR,
        WcStatus.GENERAL_ERR};

    private final LoopDevice device = new LoopDevice();
    private final List<RdmaRawEventLoopGroup> groups = new ArrayList<>();
    private SharedDevice shared;
    private DeviceFaults faults;

    /** Frames that pass one way between two loops. */
    private final class Pair {
        final FrameQueueHandler handler = new FrameQueueHandler();
        final byte[] to;
        final byte[] from;
        final RdmaRawChannel receiver;
        final RdmaRawChannel sender;
        int sent;
        int received;
        int last = -1;

        Pair(byte[] to, byte[] from) {
            this.to = to;
            this.from = from;
            receiver = device.bind(newLoop(), device.to(to), handler);
            sender = device.bind(newLoop(), device.sendOnly(), new FrameQueueHandler());
        }

        void send(int frames) throws InterruptedException {
            ChannelFuture future = null;
            for (int i = 0; i < frames; i++) {
                future = sender.write(LoopDevice.frame(to, from, sent++, FRAME_BYTES));
            }
            sender.flush();
            if (future != null) {
                assertTrue(future.await(Patience.NANOS, TimeUnit.NANOSECONDS), "a write hangs");
            }
        }

        /** Takes what has come in: in order, each once, and whole. */
        void take() {
            Object message;
            while ((message = handler.messages.poll()) != null) {
                ByteBuf frame = (ByteBuf) message;
                int number = LoopDevice.number(frame);
                assertTrue(number > last, "frame " + number + " came after " + last);
                ByteBuf expected = LoopDevice.frame(to, from, number, FRAME_BYTES);
                assertEquals(expected, frame);
                expected.release();
                frame.release();
                last = number;
                received++;
            }
        }

        long counted() {
            QueueCounters sends = sender.port().queue().counters();
            return sends.lostInFlightFrames + sends.sendErrors + receiver.port().queue().counters().receiveErrors;
        }

        VerbsFrameQueue queueOf(boolean receive) {
            return (VerbsFrameQueue) (receive ? receiver : sender).port().queue();
        }
    }

    private RdmaRawEventLoopGroup newLoop() {
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1);
        groups.add(group);
        return group;
    }

    @BeforeEach
    void open() {
        shared = SharedDevice.acquire(device.name);
        faults = DeviceFaults.of(shared.context());
    }

    @AfterEach
    void close() {
        groups.forEach(group -> group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly());
        shared.release();
        faults.restore();
    }

    static long[] seeds() {
        return new Random().longs(SEEDS).toArray();
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void everyFrameIsReceivedOrCounted(long seed) throws InterruptedException {
        Random random = new Random(seed);
        Pair struck = new Pair(LoopDevice.A, LoopDevice.B);
        Pair other = new Pair(C, D);
        long lostBefore = faults.lostFrames();
        for (int round = 0; round < ROUNDS; round++) {
            struck.send(random.nextInt(120));
            // On the loop: a queue that is being replaced has no number that the device knows.
            struck.receiver.eventLoop().submit(() -> strike(struck, true, random)).sync();
            struck.sender.eventLoop().submit(() -> strike(struck, false, random)).sync();
            other.send(random.nextInt(40));
            struck.send(random.nextInt(60));
            struck.take();
            other.take();
        }
        long endNanos = System.nanoTime() + Patience.NANOS;
        long lost;
        do {
            struck.take();
            other.take();
            lost = faults.lostFrames() - lostBefore + struck.counted();
        } while ((struck.received + lost != struck.sent || other.received != other.sent)
                && System.nanoTime() - endNanos < 0);
        assertEquals(struck.sent, struck.received + lost, "frames received, and lost: " + lost);
        assertEquals(other.sent, other.received, "frames of channels that no fault was meant for");
        assertEquals(0, other.counted());
        assertEquals(0, other.queueOf(true).counters().recoveries + other.queueOf(false).counters().recoveries);
        for (Pair pair : List.of(struck, other)) {
            awaitSlots(pair.receiver);
            awaitSlots(pair.sender);
        }
    }

    /** As when another fault meets it between two of the steps. */
    @Test
    void aQueueThatFailsWhileItIsStartedIsReplacedOnceMore() throws InterruptedException {
        Pair pair = new Pair(LoopDevice.A, LoopDevice.B);
        pair.send(1);
        pair.receiver.eventLoop().submit(() -> {
            ((EmulatedFaults) faults).failCommands(MODIFY_QP, Errno.EINVAL, 2);
            faults.overrunCompletions(pair.queueOf(true), true);
        }).sync();
        Object event;
        do {
            event = pair.handler.takeEvent();
        } while (((RdmaRawQueueEvent) event).kind() != RdmaRawQueueEvent.Kind.RECOVERED);
        assertTrue(pair.receiver.isActive());
        pair.take();
        int before = pair.received;
        pair.send(10);
        long endNanos = System.nanoTime() + Patience.NANOS;
        while (pair.received < before + 10 && System.nanoTime() - endNanos < 0) {
            pair.take();
        }
        assertEquals(before + 10, pair.received, "frames after the recovery");
        awaitSlots(pair.receiver);
    }

    private void strike(Pair pair, boolean receive, Random random) {
        VerbsFrameQueue queue = pair.queueOf(receive);
        switch (random.nextInt(receive ? 4 : 6)) {
            case 0, 1 -> faults.failNextCompletion(queue, receive, STATUSES[random.nextInt(STATUSES.length)]);
            case 2 -> faults.failQueuePair(queue.queuePair());
            case 3 -> {
                if (receive) {
                    faults.overrunCompletions(queue, true);
                }
            }
            default -> { }
        }
    }

    private static void awaitSlots(RdmaRawChannel channel) {
        long endNanos = System.nanoTime() + Patience.NANOS;
        int missing;
        do {
            missing = LoopDevice.slotsMissing(channel);
        } while (missing != 0 && System.nanoTime() - endNanos < 0);
        assertEquals(0, missing, "slots lost");
    }
}
