package io.rdmaraw.loop;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.netty.util.concurrent.DefaultEventExecutor;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.RejectedExecutionHandlers;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

@Timeout(60)
class LoopTasksTest {
    private static final int MAX_PENDING = 16;

    private final DefaultEventExecutor loop = new DefaultEventExecutor(null, new DefaultThreadFactory("bounded"),
            MAX_PENDING, RejectedExecutionHandlers.reject());

    @Test
    void fullQueueOfARunningLoopIsTriedAgain() throws InterruptedException {
        CountDownLatch busy = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(1);
        AtomicBoolean rejects = new AtomicBoolean();
        loop.execute(() -> awaitUninterruptibly(busy));
        while (!rejects.get()) {
            try {
                loop.execute(() -> { });
            } catch (RejectedExecutionException e) {
                rejects.set(true);
            }
        }
        LoopTasks.executeOrElse(loop, done::countDown, () -> fail("the loop runs"));
        busy.countDown();
        done.await();
        loop.shutdownGracefully(0, 0, TimeUnit.SECONDS).sync();
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void endedLoopHasTheOtherTaskRunAtOnce() throws InterruptedException {
        loop.execute(() -> { });
        loop.shutdownGracefully(0, 0, TimeUnit.SECONDS).sync();
        AtomicBoolean ended = new AtomicBoolean();
        LoopTasks.executeOrElse(loop, () -> fail("the loop has ended"), () -> ended.set(true));
        assertTrue(ended.get());
    }
}
