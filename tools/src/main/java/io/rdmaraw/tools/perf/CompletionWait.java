package io.rdmaraw.tools.perf;

import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.verbs.CompletionChannel;
import io.rdmaraw.verbs.CompletionQueue;

/**
 * What to do when a poll found nothing: spin; or with events arm the queues, let the caller poll once more (what came
 * before the arming raises no event), and only then sleep.
 */
final class CompletionWait implements AutoCloseable {
    private static final int TURNS_BETWEEN_SAFEPOINTS = 4096;
    /** Also the end of a run must be seen while nothing comes in. */
    private static final long LONGEST_SLEEP_NANOS = 10_000_000;

    private final CompletionChannel channelOrNull;
    private final CompletionQueue[] queues;
    private final FdWaiter waiter;
    private boolean armed;
    private int turns;

    CompletionWait(CompletionChannel channelOrNull, CompletionQueue... queues) {
        this.channelOrNull = channelOrNull;
        this.queues = queues;
        waiter = channelOrNull == null ? null : new FdWaiter(channelOrNull.fd());
    }

    /** @param longestNanos when the caller has something to do by itself, at the latest */
    void idle(long longestNanos) {
        letTheJvmIn();
        if (channelOrNull == null) {
            Thread.onSpinWait();
        } else if (!armed) {
            for (CompletionQueue queue : queues) {
                queue.requestNotification(false);
            }
            armed = true;
        } else {
            waiter.await(Math.clamp(longestNanos, 0, LONGEST_SLEEP_NANOS));
            disarm();
        }
    }

    /**
     * The JIT compiler takes every call for a place where a thread can be stopped and leaves a loop's own check out. A
     * critical downcall is none: a loop of nothing but those would hold up every safepoint of the JVM for ever. This
     * call is one.
     */
    private void letTheJvmIn() {
        if (++turns % TURNS_BETWEEN_SAFEPOINTS == 0) {
            Thread.yield();
        }
    }

    void busy() {
        letTheJvmIn();
        disarm();
    }

    private void disarm() {
        if (armed) {
            while (channelOrNull.pollEvent()) {
                // An event says no more than: poll.
            }
            armed = false;
        }
    }

    @Override
    public void close() {
        if (waiter != null) {
            waiter.close();
        }
    }
}
