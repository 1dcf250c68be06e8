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
    /** Each costs two commands of a device: with many the loop would stand still for too long. */
    private static final int MAX_RULES_TAKEN_AWAY = 64;
    /** The kernel may be out of memory for a moment; a device that refuses for a second is given up. */
    private static final int MAX_FAILURES = 10;
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
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
    /** The queue has failed too often lately, or could not be recovered; that is done when its time has come. */
    private boolean pending;
    /** The last recovery did not get to its end: rules are missing, and perhaps queues. */
    private boolean unfinished;
    private int failures;
    private long lostBefore;

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
        long lost;
        try {
            lost = events.recovery(this::recoverQueue);
        } catch (VerbsException e) {
            if (++failures == MAX_FAILURES) {
                throw e;
            }
            LOGGER.debug("{}: the queue cannot be recovered yet", name, e);
            pending = true;
            recoverLater(RETRY_NANOS);
            return;
        }
        failures = 0;
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
        boolean again = unfinished;
        if (!again) {
            lostBefore = queue.counters().lostInFlightFrames;
        }
        unfinished = true;
        if (again) {
            tags.rebuild(this::recoverIfFailed);
        } else if (!queue.needsNewQueues() && queue.resetLosesFrames() && tags.ruleCount() <= MAX_RULES_TAKEN_AWAY) {
            // If the reset is refused, rules wait for other queues.
            tags.rebuild(this::recoverUntilStarted);
        } else if (!queue.needsNewQueues()) {
            queue.stopReceiving();
            queue.recover(owner::takeWhatHasCompleted);
        }
        while (queue.needsNewQueues()) {
            tags.rebuild(this::recoverUntilStarted);
        }
        unfinished = false;
        return queue.counters().lostInFlightFrames - lostBefore;
    }

    private void recoverIfFailed() {
        if (queue.needsNewQueues() || queue.failed()) {
            recoverUntilStarted();
        }
    }

    /** Rules are made once, for queues that work. The queue says so itself when new ones fail again and again. */
    private void recoverUntilStarted() {
        do {
            queue.recover(owner::takeWhatHasCompleted);
        } while (queue.needsNewQueues());
    }
}
