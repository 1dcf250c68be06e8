package io.rdmaraw.loop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

@Timeout(60)
class LastShutdownHookTest {
    private static final int OTHERS = 3;

    private final CountDownLatch earlierMayEnd = new CountDownLatch(1);
    private final CountDownLatch laterMayEnd = new CountDownLatch(1);
    private final List<Thread> others = new ArrayList<>();
    private final CompletableFuture<Long> othersAlive = new CompletableFuture<>();

    private LastShutdownHook newHook() {
        return new LastShutdownHook("last",
                () -> othersAlive.complete(others.stream().filter(Thread::isAlive).count()));
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
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

    /** Waits until a hook waits in a method of {@link Thread}, or has ended because it does not wait for others. */
    private static void awaitCall(Thread hook, String method) {
        while (hook.getState() != Thread.State.TERMINATED && Arrays.stream(hook.getStackTrace()).noneMatch(
                frame -> frame.getClassName().equals("java.lang.Thread") && frame.getMethodName().equals(method))) {
            Thread.onSpinWait();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, OTHERS})
    void taskRunsWhenAllOtherHooksHaveEnded(int position) throws Exception {
        LastShutdownHook hook = newHook();
        for (int i = 0; i < OTHERS; i++) {
            CountDownLatch mayEnd = i < position ? earlierMayEnd : laterMayEnd;
            others.add(Thread.ofPlatform().unstarted(() -> await(mayEnd)));
        }
        List<Thread> hooks = new ArrayList<>(others);
        hooks.add(position, hook);
        Thread jvm = shutDown(hooks);
        if (position > 0) {
            awaitCall(hook, "sleep");
        }
        earlierMayEnd.countDown();
        if (position < OTHERS) {
            awaitCall(hook, "join");
        }
        laterMayEnd.countDown();
        jvm.join();
        assertEquals(0, othersAlive.get());
    }

    @Test
    void threadsOfTheApplicationDoNotPreventTheTask() throws Exception {
        Thread running = Thread.ofPlatform().start(() -> await(laterMayEnd));
        Thread jvm = shutDown(List.of(newHook()));
        jvm.join();
        assertEquals(0, othersAlive.get());
        laterMayEnd.countDown();
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
