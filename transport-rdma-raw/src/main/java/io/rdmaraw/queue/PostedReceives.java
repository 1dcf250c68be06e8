package io.rdmaraw.queue;

import io.rdmaraw.verbs.WcStatus;

/**
 * The free memory that is posted to one receive queue, be it a queue pair's or a work queue. What a request is of, and
 * how the device is told of it, is the subclass's concern.
 */
abstract class PostedReceives {
    private final QueueCounters counters;
    private final int depth;
    private final int refillBatch;
    private int posted;
    private boolean failed;

    /**
     * @param depth the most requests that are posted at a time
     * @param refillBatch how many have to be missing before it is worth a doorbell
     */
    PostedReceives(QueueCounters counters, int depth, int refillBatch) {
        this.counters = counters;
        this.depth = depth;
        this.refillBatch = refillBatch;
    }

    /** Describes as many requests as there is free memory for, at most {@code room}; returns how many. */
    abstract int describeBatch(int room);

    /** Hands the requests described to the device; returns how many it took. */
    abstract int postDescribed(int count);

    /** Calls {@link #completed} for every request that is posted; what completes from now on is of later ones. */
    abstract void takeBackAll();

    final int posted() {
        return posted;
    }

    final boolean failed() {
        return failed;
    }

    /** A request has completed, well or not. */
    final void completed() {
        posted--;
    }

    /** A completion carries an error. */
    final void fail(int status) {
        failed = true;
        if (status != WcStatus.WR_FLUSH_ERR) {
            counters.receiveErrors++;
        }
    }

    /** Posts free memory if that is worth a doorbell. */
    final void refillIfLow() {
        if (depth - posted >= refillBatch) {
            refill();
        }
    }

    /** Posts free memory until the receive queue is full or none is left. */
    final void refill() {
        while (posted < depth && !failed) {
            int count = describeBatch(depth - posted);
            posted += count;
            if (count == 0) {
                counters.receiveQueueLow++;
                return;
            }
            if (postDescribed(count) < count) {
                counters.receiveErrors++;
                failed = true;
            }
        }
    }

    /** Takes all that is posted back: the queue was reset or destroyed, so the device writes to none of it. */
    final void abandon() {
        takeBackAll();
        failed = false;
    }
}
