package io.rdmaraw.device;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.verbs.VerbsException;

import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Sets a loop's queue going again after it has failed, at a bounded rate. Used by the loop's thread. */
final class QueueRecovery {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(QueueRecovery.class);

    /** Who has the queue. */
    interface Owner {
        /** Receives what has completed, as a reset may throw it away. */
        void takeWhatHasCompleted();

        /** The queue works again; {@code lostFrames} of those in flight were lost. */
        void recovered(long lostFrames);

        /** The device does not let the queue be recovered. */
        void giveUp(VerbsException cause);

        /** Tells whether the device has been given up. */
        boolean isGone();
    }

    private final String name;
    private final FrameQueue queue;
    private final FlowTagTable tags;
    private final DeviceEvents events;
    private final Executor loop;
    private final Owner owner;
    private final RecoveryRateLimiter pace = new RecoveryRateLimiter(System.nanoTime());
    /** The queue has failed too often lately; it is recovered when its time has come. */
    private boolean pending;

    QueueRecovery(String name, FrameQueue queue, FlowTagTable tags, DeviceEvents events, Executor loop, Owner owner) {
        this.name = name;
        this.queue = queue;
        this.tags = tags;
        this.events = events;
        this.loop = loop;
        this.owner = owner;
    }

    /** Recovers the queue, or does so later if it fails too often. */
    void recover() {
        if (pending) {
            return;
        }
        long waitNanos = pace.take(System.nanoTime());
        if (waitNanos > 0) {
            pending = true;
            recoverLater(waitNanos);
            return;
        }
        long lost = events.recovery(this::recoverQueue);
        String report = pace.report(System.nanoTime(), lost);
        if (report != null) {
            LOGGER.warn("{}: {}", name, report);
        }
        owner.recovered(lost);
    }

    private void recoverLater(long waitNanos) {
        Runnable retry = () -> {
            pending = false;
            if (!owner.isGone()) {
                try {
                    recover();
                } catch (VerbsException e) {
                    owner.giveUp(e);
                }
            }
        };
        if (loop instanceof ScheduledExecutorService timer) {
            timer.schedule(retry, waitNanos, TimeUnit.NANOSECONDS);
        } else {
            loop.execute(retry);
        }
    }

    private long recoverQueue() {
        long lostBefore = queue.counters().lostInFlightFrames;
        if (!queue.needsNewQueues()) {
            queue.recover(owner::takeWhatHasCompleted);
        }
        // The queue gives up itself when one that was made anew fails again and again.
        while (queue.needsNewQueues()) {
            tags.rebuild(() -> queue.recover(owner::takeWhatHasCompleted));
        }
        return queue.counters().lostInFlightFrames - lostBefore;
    }
}
