package io.rdmaraw.device;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.verbs.VerbsException;

import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Recovers a failed queue at a limited rate. Used on the loop's thread only. */
final class QueueRecovery {
    /** Maximum number of rules to remove during a reset. Each costs two device commands, which block the loop. */
    private static final int MAX_RULES_REMOVED = 64;
    /**
     * Number of consecutive failures after which the device is considered failed. A failure may be temporary,
     * for example if the kernel is short of memory.
     */
    private static final int MAX_CONSECUTIVE_FAILURES = 10;
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(QueueRecovery.class);

    /** The owner of the queue. */
    interface Owner {
        /** Receives all completed frames, which a reset could discard. */
        void drainCompletions();

        /**
         * Called when the queue works again.
         *
         * @param lostFrames number of frames in flight that were lost
         */
        void onRecovered(long lostFrames);

        /** Called when the queue cannot be recovered. */
        void onDeviceFailure(VerbsException cause);

        /** Returns whether the device has been given up. */
        boolean isRemoved();
    }

    private final String name;
    private final FrameQueue queue;
    private final FlowTagTable tags;
    private final QueueFlightRecorder flightRecorder;
    private final Executor loop;
    private final Owner owner;
    private final RecoveryRateLimiter rateLimiter = new RecoveryRateLimiter(System.nanoTime());
    /** Set while a recovery is scheduled, because of the rate limit or a failed attempt. */
    private boolean pending;
    /** Set while a recovery is incomplete. Rules may be missing, and possibly queues. */
    private boolean incomplete;
    private int consecutiveFailures;
    private long lostFramesBefore;

    QueueRecovery(String name, FrameQueue queue, FlowTagTable tags, QueueFlightRecorder flightRecorder, Executor loop,
                  Owner owner) {
        this.name = name;
        this.queue = queue;
        this.tags = tags;
        this.flightRecorder = flightRecorder;
        this.loop = loop;
        this.owner = owner;
    }

    /** Recovers the queue, or schedules the recovery if the rate limit is reached. */
    void recover() {
        if (pending) {
            return;
        }
        long waitNanos = rateLimiter.acquire(System.nanoTime());
        if (waitNanos > 0) {
            pending = true;
            recoverLater(waitNanos);
            return;
        }
        long lost;
        try {
            lost = flightRecorder.recordRecovery(this::recoverQueue);
        } catch (VerbsException e) {
            if (++consecutiveFailures == MAX_CONSECUTIVE_FAILURES) {
                throw e;
            }
            LOGGER.debug("{}: the queue cannot be recovered yet", name, e);
            pending = true;
            recoverLater(RETRY_NANOS);
            return;
        }
        consecutiveFailures = 0;
        String report = rateLimiter.report(System.nanoTime(), lost);
        if (report != null) {
            LOGGER.warn("{}: {}", name, report);
        }
        owner.onRecovered(lost);
    }

    private void recoverLater(long waitNanos) {
        Runnable retry = () -> {
            pending = false;
            if (!owner.isRemoved()) {
                try {
                    recover();
                } catch (VerbsException e) {
                    owner.onDeviceFailure(e);
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
        boolean resuming = incomplete;
        if (!resuming) {
            lostFramesBefore = queue.counters().lostInFlightFrames;
        }
        incomplete = true;
        if (resuming) {
            tags.rebuild(this::recoverIfFailed);
        } else if (!queue.needsNewQueues() && queue.resetLosesFrames() && tags.ruleCount() <= MAX_RULES_REMOVED) {
            // If the reset is refused, the rules are installed after the queues have been replaced.
            tags.rebuild(this::recoverUntilStarted);
        } else if (!queue.needsNewQueues()) {
            queue.stopReceiving();
            queue.recover(owner::drainCompletions);
        }
        while (queue.needsNewQueues()) {
            tags.rebuild(this::recoverUntilStarted);
        }
        incomplete = false;
        return queue.counters().lostInFlightFrames - lostFramesBefore;
    }

    private void recoverIfFailed() {
        if (queue.needsNewQueues() || queue.failed()) {
            recoverUntilStarted();
        }
    }

    /**
     * Recovers the queue until it works, so that rules are installed only once. {@link FrameQueue#recover}
     * throws after repeated failures, which ends the loop.
     */
    private void recoverUntilStarted() {
        do {
            queue.recover(owner::drainCompletions);
        } while (queue.needsNewQueues());
    }
}
