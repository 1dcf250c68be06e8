package io.rdmaraw.queue;

import io.rdmaraw.verbs.abi.WcStatus;

/**
 * The free memory that is posted to one receive queue, be it a queue pair's or a work queue. What a request is of, and
 * how the device is told of it, is the subclass's concern.
 */
public abstract class ReceiveRequests {
    private final QueueCounters counters;
    private final int depth;
    private final int refillBatch;
    private int posted;
    private boolean failed;

    /**
     * @param depth the most requests that are posted at a time
     * @param refillBatch how many have to be missing before it is worth a doorbell
     */
    protected ReceiveRequests(QueueCounters counters, int depth, int refillBatch) {
        this.counters = counters;
        this.depth = depth;
        this.refillBatch = refillBatch;
    }

    /** Describes as many requests as there is free memory for, at most {@code room}; returns how many. */
    protected abstract int describeBatch(int room);

    /** Hands the requests described to the device; returns how many it took. */
    protected abstract int postDescribed(int count);

    /** Calls {@link #completed} for every request that is posted; what completes from now on is of later ones. */
    protected abstract void takeBackAll();

    /** Gives back the memory that is the queue's and not posted, where there is such. */
    void giveBack() {
    }

    /** Nothing was left to post. */
    void noteNoMemory() {
        counters.receiveQueueLow++;
    }

    /** Returns how many requests more could be posted than there is memory of the queue's own for. */
    int unbacked() {
        return depth - posted;
    }

    /**
     * Returns how much free memory is owed to the queue, which has failed or found too little: if handlers got it,
     * there would be nothing left to send with what they wait for.
     */
    final int missing() {
        int unbacked = unbacked();
        return unbacked < refillBatch ? 0 : unbacked;
    }

    final int posted() {
        return posted;
    }

    public final boolean failed() {
        return failed;
    }

    /** A request has completed, well or not. */
    protected final void completed() {
        posted--;
    }

    /**
     * A completion carries an error. Most are of one frame, such as one that is longer than its slot: it is counted,
     * and the queue goes on. Three say that the device has stopped the queue; mlx5's driver in DPDK tells the same
     * ones apart ({@code mlx5_rx_err_handle}).
     */
    public final void fail(int status) {
        if (status != WcStatus.WR_FLUSH_ERR) {
            counters.receiveErrors++;
        }
        if (status == WcStatus.WR_FLUSH_ERR || status == WcStatus.LOC_PROT_ERR || status == WcStatus.LOC_QP_OP_ERR) {
            stop();
        }
    }

    /** The queue has to be reset: nothing is posted until then. */
    protected final void stop() {
        failed = true;
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
                noteNoMemory();
                return;
            }
            if (postDescribed(count) < count) {
                counters.receiveErrors++;
                stop();
            }
        }
    }

    /** The queue was reset: the device writes to nothing that was posted. It stays the queue's, for {@link #refill}. */
    final void afterReset() {
        takeBackAll();
        failed = false;
    }

    /** The queue was destroyed: its memory is for others. */
    final void abandon() {
        afterReset();
        giveBack();
    }
}
