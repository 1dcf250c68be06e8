package io.rdmaraw.metrics;

import java.util.List;

/** What one event loop has counted; {@link RdmaRawMetrics#loops()} has them all. Readable on any thread. */
public interface RdmaRawLoopStatistics extends RdmaRawMetered {
    /** Returns the name of the loop's thread, with a number behind it where another loop's thread has the same. */
    String name();

    /** Returns the ports that the loop has queues on. */
    List<RdmaRawPortStatistics> ports();
}
