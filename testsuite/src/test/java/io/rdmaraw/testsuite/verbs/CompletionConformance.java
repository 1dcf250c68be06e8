package io.rdmaraw.testsuite.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.ffi.Libc;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.objects.AsyncEvent;
import io.rdmaraw.verbs.objects.AsyncEventType;
import io.rdmaraw.verbs.objects.CompletionChannel;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.SendWr;
import io.rdmaraw.verbs.objects.Wc;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Completion queues (notification, overrun, extended polling) and asynchronous events. */
abstract class CompletionConformance extends ProviderConformance {
    private static final byte[] FRAME = Frames.raw("02:00:00:00:00:02", "02:00:00:00:00:01", Frames.ETHER_TYPE, 60);

    private static final long PAUSE_NANOS = 10_000;

    CompletionConformance(Devices devices) {
        super(devices);
    }

    private void post(QueuePair queuePair, long wrId) {
        long slot = Port.write(sender.slot(), FRAME);
        assertEquals(0, sender.postSend(queuePair, wrId, SendWr.FLAG_SIGNALED, new long[] {slot, FRAME.length,
            sender.memory.lkey()}));
    }

    @Test
    void anArmedQueueSendsOneEventAndIsThenDisarmed() {
        QueuePair queuePair = sender.readyQueuePair();
        try (FdWaiter waiter = new FdWaiter(sender.channel.fd())) {
            post(queuePair, 1);
            sender.await(1);
            assertEquals(0, waiter.await(0), "not armed: no event");
            assertFalse(sender.channel.pollEvent());
            sender.completionQueue.requestNotification(false);
            assertEquals(0, waiter.await(0), "an empty queue has nothing to tell");
            post(queuePair, 2);
            post(queuePair, 3);
            assertEquals(1, waiter.await(-1));
            assertTrue(sender.channel.pollEvent());
            assertFalse(sender.channel.pollEvent(), "one event for one arming");
            sender.await(2);
            post(queuePair, 4);
            sender.await(1);
            assertFalse(sender.channel.pollEvent(), "the event disarmed the queue");
        }
    }

    @Test
    void armingTwiceIsArmingOnce() {
        QueuePair queuePair = sender.readyQueuePair();
        sender.completionQueue.requestNotification(false);
        sender.completionQueue.requestNotification(false);
        post(queuePair, 1);
        sender.await(1);
        takeEvent(sender.channel);
        assertFalse(sender.channel.pollEvent());
    }

    @Test
    void queueArmedForSolicitedCompletionsReportsOnlyTheseAndErrors() {
        QueuePair queuePair = sender.readyQueuePair();
        sender.completionQueue.requestNotification(true);
        post(queuePair, 1);
        sender.await(1);
        assertFalse(sender.channel.pollEvent());
        long slot = sender.slot();
        assertEquals(0, sender.postReceive(queuePair, 2, new long[] {slot, 64, sender.memory.lkey()}));
        queuePair.toError();
        assertEquals(WcStatus.WR_FLUSH_ERR, sender.await().status());
        takeEvent(sender.channel);     // a completion in error is always solicited
    }

    @Test
    void aQueueThatIsNotArmedStaysSilentEvenForErrors() {
        QueuePair queuePair = sender.readyQueuePair();
        sender.receive(queuePair, 1);
        queuePair.toError();
        assertEquals(WcStatus.WR_FLUSH_ERR, sender.await().status());
        assertFalse(sender.channel.pollEvent());
    }

    /** A thread that arms the queue, polls once more and then sleeps is woken for each later completion. */
    @Test
    void noWakeupIsLost() throws Exception {
        int rounds = 20_000;
        // On a busy machine, each round waits twice for a core. Fewer rounds must then suffice.
        int enoughRounds = 1_000;
        long enoughNanos = System.nanoTime() + 30_000_000_000L;
        QueuePair queuePair = sender.readyQueuePair();
        AtomicInteger taken = new AtomicInteger();
        AtomicBoolean over = new AtomicBoolean();
        Thread poster = Thread.ofPlatform().unstarted(() -> {
            for (int i = 0; i < rounds; i++) {
                for (int spins = 0; taken.get() < i; spins++) {
                    if (over.get()) {
                        return;
                    }
                    if (spins < 1000) {
                        Thread.onSpinWait();
                    } else {
                        // On a busy machine, the other thread may be waiting for this core. A thread that yields
                        // would wait for all others each time.
                        LockSupport.parkNanos(PAUSE_NANOS);
                    }
                }
                post(queuePair, i);
            }
        });
        long wcs = Libc.allocateZeroed(16L * Wc.SIZE_BYTES);
        try (FdWaiter waiter = new FdWaiter(sender.channel.fd())) {
            poster.start();
            int sleeps = 0;
            while (taken.get() < rounds && (taken.get() < enoughRounds || System.nanoTime() - enoughNanos < 0)) {
                int count = sender.completionQueue.poll(16, wcs);
                if (count == 0) {
                    sender.completionQueue.requestNotification(false);
                    count = sender.completionQueue.poll(16, wcs);
                    if (count == 0) {
                        assertEquals(1, waiter.await(20_000_000_000L), "slept over completion " + taken);
                        assertTrue(sender.channel.pollEvent());
                        sleeps++;
                    }
                }
                taken.addAndGet(count);
                sender.channel.pollEvent();
            }
            assertTrue(sleeps > 0, "the test never slept");
        } finally {
            // Stop the poster also when the test fails. Otherwise it would use the queue pair after it is closed.
            over.set(true);
            joinUninterruptibly(poster);
            Libc.free(wcs);
        }
    }

    private static void joinUninterruptibly(Thread thread) {
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void twoQueuesShareAChannel() {
        CompletionChannel channel = sender.context.createCompletionChannel();
        CompletionQueue first = sender.context.createCompletionQueue(16, channel, 0);
        CompletionQueue second = sender.context.createCompletionQueue(16, channel, 0);
        QueuePair queuePair = Port.ready(sender.queuePair(o ->
                o.sendCompletionQueue(first).receiveCompletionQueue(second)));
        first.requestNotification(false);
        second.requestNotification(false);
        long slot = sender.slot();
        sender.postReceive(queuePair, 1, new long[] {slot, 64, sender.memory.lkey()});
        post(queuePair, 2);
        queuePair.toError();
        takeEvent(channel);
        takeEvent(channel);
        assertFalse(channel.pollEvent());
        assertEquals(2, sender.await(first, 1).getFirst().wrId());
        assertEquals(1, sender.await(second, 1).getFirst().wrId());
        channel.close();
        assertTrue(first.isClosed() && second.isClosed() && queuePair.isClosed(), "the channel takes its queues along");
    }

    @Test
    void closingAQueueWithEventsDoesNotHang() {
        CompletionChannel channel = sender.context.createCompletionChannel();
        CompletionQueue queue = sender.context.createCompletionQueue(4096, channel, 0);
        QueuePair queuePair = Port.ready(sender.queuePair(o -> o.completionQueue(queue)));
        for (int i = 0; i < 2500; i++) {
            queue.requestNotification(false);
            post(queuePair, i);
            sender.await(queue, 1);
            takeEvent(channel);
        }
        queue.requestNotification(false);
        post(queuePair, 0);
        queue.close();
        assertFalse(channel.pollEvent(), "the event of a closed queue is gone");
    }

    @Test
    void queueHasAtLeastTheRequestedCapacityAndCanBeResized() {
        CompletionQueue queue = sender.context.createCompletionQueue(100, null, 0);
        assertTrue(queue.capacity() >= 100);
        QueuePair queuePair = Port.ready(sender.queuePair(o -> o.completionQueue(queue)));
        post(queuePair, 1);
        post(queuePair, 2);
        queue.resize(1000);
        assertTrue(queue.capacity() >= 1000);
        assertEquals(2, sender.await(queue, 2).get(1).wrId());
    }

    @Test
    void overrunQueueReportsTheOverrun() {
        CompletionQueue small = sender.context.createCompletionQueue(1, null, 0);
        QueuePair queuePair = Port.ready(sender.queuePair(o -> o.sendCompletionQueue(small).maxSendWr(64)));
        // The ring of libmlx5 has one entry more than the reported capacity.
        int more = small.capacity() + 2;
        for (int i = 0; i < more; i++) {
            post(queuePair, i);
        }
        AsyncEvent event = awaitEvent(AsyncEventType.CQ_ERR);
        assertEquals(small, event.sourceOrNull());
        small.close();
    }


    @Test
    void thereAreNoEventsToBeginWith() {
        assertNull(sender.context.pollAsyncEvent());
    }

    /** Waits for the event of a completion. A device may send the event shortly after the completion can be polled. */
    private static void takeEvent(CompletionChannel channel) {
        try (FdWaiter waiter = new FdWaiter(channel.fd())) {
            assertEquals(1, waiter.await(20_000_000_000L), "no completion event");
        }
        assertTrue(channel.pollEvent());
    }

    final AsyncEvent awaitEvent(AsyncEventType type) {
        try (FdWaiter waiter = new FdWaiter(sender.context.asyncFd())) {
            AsyncEvent event = sender.context.pollAsyncEvent();
            while (event == null || event.type() != type) {
                assertEquals(1, waiter.await(20_000_000_000L), "no event " + type);
                event = sender.context.pollAsyncEvent();
            }
            return event;
        }
    }
}
