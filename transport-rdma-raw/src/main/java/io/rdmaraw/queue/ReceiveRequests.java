package io.rdmaraw.queue;

import io.rdmaraw.verbs.abi.WcStatus;

/**
 * The requests posted to one receive queue, which belongs to a queue pair or is a work queue. Subclasses
 * determine the memory of a request and how it is posted.
 */
public abstract class ReceiveRequests {
    private final QueueCounters counters;
    private final int depth;
    private final int refillBatch;
    private int posted;
    private boolean failed;

    /**
     * @param depth       maximum number of posted requests
     * @param refillBatch minimum number of missing requests that is worth a doorbell
     */
    protected ReceiveRequests(QueueCounters counters, int depth, int refillBatch) {
        this.counters = counters;
        this.depth = depth;
        this.refillBatch = refillBatch;
    }

    /**
     * Takes free memory and prepares requests that {@link #postDescribed} posts.
     *
     * @param room maximum number of requests
     * @return the number of requests; fewer than {@code room} if the batch is full or memory is short
     */
    protected abstract int describeBatch(int room);

    /** Posts the prepared requests and returns how many the device accepted. */
    protected abstract int postDescribed(int count);

    /**
     * Takes back the memory of every posted request and calls {@link #recordCompletion} for it. Completions that
     * arrive later for these requests are ignored.
     */
    protected abstract void reclaimAll();

    /** Returns reserved memory to the pool, if the subclass reserves any. */
    void releaseReserved() {
    }

    /** Called when no memory was left to post. */
    void countNoMemory() {
        counters.receiveQueueLow++;
    }

    /**
     * Returns the number of missing requests that need memory from the pool. A subclass that reserves memory for the
     * queue subtracts the requests for which it has some.
     */
    int requestsWithoutMemory() {
        return depth - posted;
    }

    /**
     * Returns the number of free memory units that the next refill will take. Returns 0 if less than a batch is
     * missing, as usual after {@link #refillIfLow}. More is missing if the queue has failed or if memory was short.
     *
     * <p>Callers subtract it from the free memory when they decide whether handlers may hold the frames of a poll.
     * Otherwise the refill would take the memory that sending needs.
     */
    final int refillDemand() {
        int requestsWithoutMemory = requestsWithoutMemory();
        return requestsWithoutMemory < refillBatch ? 0 : requestsWithoutMemory;
    }

    final int postedCount() {
        return posted;
    }

    public final boolean failed() {
        return failed;
    }

    /** Called by subclasses when a request has completed, with or without an error. */
    protected final void recordCompletion() {
        posted--;
    }

    /**
     * Handles a completion with an error. Most errors concern one frame, for example one longer than its slot:
     * they are only counted. Three statuses mean that the device has stopped the queue; mlx5's DPDK driver uses
     * the same ones ({@code mlx5_rx_err_handle}).
     */
    public final void handleError(int status) {
        if (status != WcStatus.WR_FLUSH_ERR) {
            counters.receiveErrors++;
        }
        if (status == WcStatus.WR_FLUSH_ERR || status == WcStatus.LOC_PROT_ERR || status == WcStatus.LOC_QP_OP_ERR) {
            stop();
        }
    }

    /** Marks the queue as failed. Nothing is posted until it is reset. */
    protected final void stop() {
        failed = true;
    }

    /** Posts free memory if enough requests are missing to be worth a doorbell. */
    final void refillIfLow() {
        if (depth - posted >= refillBatch) {
            refill();
        }
    }

    /** Posts free memory until the queue is full, no memory is left, or the queue fails. */
    final void refill() {
        while (posted < depth && !failed) {
            int count = describeBatch(depth - posted);
            posted += count;
            if (count == 0) {
                countNoMemory();
                return;
            }
            if (postDescribed(count) < count) {
                counters.receiveErrors++;
                stop();
            }
        }
    }

    /**
     * Takes back all posted memory after a reset and permits {@link #refill} again. The memory is reserved for this
     * queue if the subclass reserves memory, or else returns to the pool.
     */
    final void afterReset() {
        reclaimAll();
        failed = false;
    }

    /** Takes back all posted memory after the queue was destroyed and returns it to the pool. */
    final void releaseAll() {
        afterReset();
        releaseReserved();
    }
}
