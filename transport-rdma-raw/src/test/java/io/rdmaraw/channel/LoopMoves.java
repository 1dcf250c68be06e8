package io.rdmaraw.channel;

import static io.rdmaraw.channel.StreamFixture.on;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.EventExecutor;

import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** What tests of channels that go from loop to loop have in common; all waiting ends. */
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

    /** A turn of the loop for each look. */
    static void awaitOn(EventLoop loop, String what, Callable<Boolean> condition) {
        Patience.until(() -> on(loop, condition), what);
    }

    /** As {@link StreamFixture#keepBusy}, for threads of loops; it ends with the test's patience. */
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
     * A call of another thread waits on the loop that the channel leaves, and has its turn there when the channel has
     * joined the next one. Its connection is still there then.
     *
     * @param whenJoined done on the loop that the channel has left, before it comes to the call
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
