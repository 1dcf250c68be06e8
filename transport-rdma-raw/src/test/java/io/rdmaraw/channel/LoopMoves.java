package io.rdmaraw.channel;

import static io.rdmaraw.channel.StreamFixture.on;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.EventExecutor;

import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Helpers for tests that move channels between loops. Every wait has a time limit. */
final class LoopMoves {
    private LoopMoves() {
    }

    static EventLoop loopThatIsNot(Iterable<EventExecutor> loops, EventLoop... used) {
        for (EventExecutor loop : loops) {
            if (Arrays.stream(used).noneMatch(other -> other == loop)) {
                return (EventLoop) loop;
            }
        }
        throw new AssertionError("more loops are needed");
    }

    static void await(CountDownLatch latch) {
        try {
            assertTrue(latch.await(Patience.SECONDS, TimeUnit.SECONDS), "a latch that does not open");
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Waits for a condition that is checked by tasks on the loop. */
    static void awaitOn(EventLoop loop, String what, Callable<Boolean> condition) {
        Patience.until(() -> on(loop, condition), what);
    }

    /** Like {@link StreamFixture#keepBusy}, but callable from loops; the block ends after {@link Patience#SECONDS}. */
    static void keepBusy(EventLoop loop, CountDownLatch latch) {
        CountDownLatch begun = new CountDownLatch(1);
        loop.execute(() -> {
            begun.countDown();
            await(latch);
        });
        await(begun);
    }

    static void move(RdmaRawSocketChannel channel, EventLoop next) throws InterruptedException {
        channel.deregister().sync();
        next.register(channel).sync();
    }

    /**
     * Makes a call from another thread arrive at the loop that the channel has left: the call runs there after the
     * channel has joined the next loop, while its connection is still on the old one.
     *
     * @param whenJoined runs on the old loop after the channel has joined the next one and before the call
     */
    static void leaveBehind(RdmaRawSocketChannel channel, EventLoop next, Runnable call, Runnable whenJoined) {
        EventLoop left = channel.eventLoop();
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch called = new CountDownLatch(1);
        CountDownLatch joined = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(1);
        left.execute(() -> {
            channel.deregister().addListener(gone -> {
                next.register(channel).addListener(there -> joined.countDown());
                await(joined);
                whenJoined.run();
                done.countDown();
            });
            begun.countDown();
            await(called);
        });
        await(begun);
        call.run();
        called.countDown();
        await(done);
        StreamFixture.settle(left);
    }
}
