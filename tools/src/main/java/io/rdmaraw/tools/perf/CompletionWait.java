package io.rdmaraw.tools.perf;

import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.verbs.objects.CompletionChannel;
import io.rdmaraw.verbs.objects.CompletionQueue;

/**
 * Waits after a poll without completions, either by spinning or for a completion event. With events, the first call
 * arms the queues and returns, so that the caller polls once more: a completion from before the arming raises no event.
 * The second call sleeps.
 */
final class CompletionWait implements AutoCloseable {
    private static final int TURNS_BETWEEN_SAFEPOINTS = 4096;
    /** Maximum duration of one sleep, so that the end of a run is noticed even if nothing arrives. */
    private static final long MAX_SLEEP_NANOS = 10_000_000;

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

    /**
     * Spins once, arms the queues or sleeps.
     *
     * @param maxNanos time until the caller has other work to do
     */
    void idle(long maxNanos) {
        pollSafepoint();
        if (channelOrNull == null) {
            Thread.onSpinWait();
        } else if (!armed) {
            for (CompletionQueue queue : queues) {
                queue.requestNotification(false);
            }
            armed = true;
        } else {
            waiter.await(Math.clamp(maxNanos, 0, MAX_SLEEP_NANOS));
            disarm();
        }
    }

    /**
     * Executes a safepoint from time to time. The JIT compiler removes the safepoint check of a loop that makes calls,
     * but a critical downcall is no safepoint. A loop that only makes critical downcalls would block every safepoint of
     * the JVM for ever.
     */
    private void pollSafepoint() {
        if (++turns % TURNS_BETWEEN_SAFEPOINTS == 0) {
            Thread.yield();
        }
    }

    void busy() {
        pollSafepoint();
        disarm();
    }

    private void disarm() {
        if (armed) {
            while (channelOrNull.pollEvent()) {
                // The event carries no data; the caller polls the queues in any case.
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
