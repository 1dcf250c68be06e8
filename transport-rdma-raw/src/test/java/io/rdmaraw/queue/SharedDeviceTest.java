package io.rdmaraw.queue;

import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.VerbsDevices;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

@Timeout(30)
class SharedDeviceTest {
    private static final String SLOW = "soft:loop:slow-to-open";
    private static final String OTHER = "soft:loop:open-meanwhile";
    private static final int SECONDS = 10;

    private final CountDownLatch isOpening = new CountDownLatch(1);
    private final CountDownLatch mayOpen = new CountDownLatch(1);
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void close() {
        mayOpen.countDown();
        threads.shutdown();
    }

    private VerbsContext openSlowly(String name) {
        isOpening.countDown();
        try {
            mayOpen.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return VerbsDevices.open(name);
    }

    /** Opening a device may take seconds. Loops open and close other devices meanwhile. */
    @Test
    void slowDeviceDoesNotDelayOthers() throws Exception {
        CompletableFuture<SharedDevice> slow =
                CompletableFuture.supplyAsync(() -> SharedDevice.acquire(SLOW, this::openSlowly), threads);
        assertTrue(isOpening.await(SECONDS, TimeUnit.SECONDS));
        CompletableFuture<Void> other = CompletableFuture.runAsync(() -> {
            SharedDevice device = SharedDevice.acquire(OTHER);
            assertSame(device, SharedDevice.acquire(OTHER));
            device.release();
            device.release();
        }, threads);
        other.get(SECONDS, TimeUnit.SECONDS);
        mayOpen.countDown();
        slow.get(SECONDS, TimeUnit.SECONDS).release();
    }

    @Test
    void deviceIsOpenedOnceForConcurrentCallers() throws Exception {
        CompletableFuture<SharedDevice> first =
                CompletableFuture.supplyAsync(() -> SharedDevice.acquire(SLOW, this::openSlowly), threads);
        assertTrue(isOpening.await(SECONDS, TimeUnit.SECONDS));
        CompletableFuture<SharedDevice> second =
                CompletableFuture.supplyAsync(() -> SharedDevice.acquire(SLOW), threads);
        mayOpen.countDown();
        SharedDevice device = first.get(SECONDS, TimeUnit.SECONDS);
        assertSame(device, second.get(SECONDS, TimeUnit.SECONDS));
        device.release();
        device.release();
        SharedDevice again = SharedDevice.acquire(SLOW);
        assertNotSame(device, again);
        again.release();
    }
}
