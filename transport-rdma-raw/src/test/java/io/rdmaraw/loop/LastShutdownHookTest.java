package io.rdmaraw.loop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

@Timeout(60)
class LastShutdownHookTest {
    private static final int OTHERS = 3;

    private final CountDownLatch othersMayEnd = new CountDownLatch(1);
    private final List<Thread> others = new ArrayList<>();
    private final CompletableFuture<Long> othersAlive = new CompletableFuture<>();

    private LastShutdownHook newHook() {
        return new LastShutdownHook("last",
                () -> othersAlive.complete(others.stream().filter(Thread::isAlive).count()));
    }

    private void awaitPermission() {
        try {
            othersMayEnd.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Starts the hooks and joins them in the same order, as the JVM does. */
    private static Thread shutDown(List<Thread> hooks) {
        return Thread.ofPlatform().start(() -> {
            hooks.forEach(Thread::start);
            for (Thread hook : hooks) {
                try {
                    hook.join();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, OTHERS})
    void taskRunsWhenAllOtherHooksHaveEnded(int position) throws Exception {
        LastShutdownHook hook = newHook();
        for (int i = 0; i < OTHERS; i++) {
            others.add(Thread.ofPlatform().unstarted(this::awaitPermission));
        }
        List<Thread> hooks = new ArrayList<>(others);
        hooks.add(position, hook);
        Thread jvm = shutDown(hooks);
        // A hook that does not wait for the others ends here.
        while (hook.getState() != Thread.State.TIMED_WAITING && hook.getState() != Thread.State.TERMINATED) {
            Thread.onSpinWait();
        }
        othersMayEnd.countDown();
        jvm.join();
        assertEquals(0, othersAlive.get());
    }

    @Test
    void threadsOfTheApplicationDoNotPreventTheTask() throws Exception {
        Thread running = Thread.ofPlatform().start(this::awaitPermission);
        Thread jvm = shutDown(List.of(newHook()));
        jvm.join();
        assertEquals(0, othersAlive.get());
        othersMayEnd.countDown();
        running.join();
    }

    /** Each class loader with this library has its own hook. */
    @Test
    void hooksOfTwoClassLoadersDoNotWaitForEachOther() throws Exception {
        CompletableFuture<Void> second = new CompletableFuture<>();
        shutDown(List.of(newHook(), new LastShutdownHook("second", () -> second.complete(null)))).join();
        othersAlive.get();
        second.get();
    }
}
