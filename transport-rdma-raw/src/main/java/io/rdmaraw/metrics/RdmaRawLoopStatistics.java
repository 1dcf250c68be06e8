package io.rdmaraw.metrics;

import java.util.List;

/** The counters of one event loop and its queues; see {@link RdmaRawMetrics#loops()}. Readable on any thread. */
public interface RdmaRawLoopStatistics extends RdmaRawMetered {
    /**
     * Returns the unique name of the loop: its thread's name, with a number appended if another loop has the
     * same one.
     */
    String name();

    /** Returns the counters of the loop's queues: one for each device port that the loop uses. */
    List<RdmaRawQueueStatistics> queues();
}
