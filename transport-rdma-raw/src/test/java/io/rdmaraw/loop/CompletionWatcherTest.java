package io.rdmaraw.loop;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.ffi.EventFd;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

@Timeout(30)
class CompletionWatcherTest {
    private static final int SECONDS = 10;

    @Test
    void watchedDescriptorWakesLoopOncePerRequest() throws Exception {
        try (EventFd queue = new EventFd()) {
            CountDownLatch woken = new CountDownLatch(1);
            CompletionWatcher watcher = new CompletionWatcher(new int[] {queue.fd()}, woken::countDown);
            watcher.watch();
            queue.signal();
            assertTrue(woken.await(SECONDS, TimeUnit.SECONDS));
            watcher.close();
        }
    }

    /** The loop closes its watcher. It must not wait for a thread that the operating system does not run. */
    @Test
    void closeDoesNotWaitForThread() throws Exception {
        try (EventFd queue = new EventFd()) {
            CountDownLatch inWakeup = new CountDownLatch(1);
            CountDownLatch mayReturn = new CountDownLatch(1);
            CompletionWatcher watcher = new CompletionWatcher(new int[] {queue.fd()}, () -> {
                inWakeup.countDown();
                awaitUninterruptibly(mayReturn);
            });
            watcher.watch();
            queue.signal();
            assertTrue(inWakeup.await(SECONDS, TimeUnit.SECONDS));
            watcher.close();
            mayReturn.countDown();
        }
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
