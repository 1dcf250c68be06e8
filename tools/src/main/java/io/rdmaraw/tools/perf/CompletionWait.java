package io.rdmaraw.tools.perf;

import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.verbs.CompletionChannel;
import io.rdmaraw.verbs.CompletionQueue;

/**
 * What a side does after a poll without completions: it spins, or with events it arms the queues, lets the caller poll
 * once more (a completion before the arming raises no event), and then sleeps.
 */
final class CompletionWait implements AutoCloseable {
    private static final int TURNS_BETWEEN_SAFEPOINTS = 4096;
    /** Limits each sleep, because the end of a run must be noticed even if nothing arrives. */
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
     * A call that is a safepoint. The JIT compiler treats every call as a safepoint and removes the check of the loop
     * itself, but a critical downcall is not one: a loop of nothing but critical downcalls would block every safepoint
     * of the JVM for ever.
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
