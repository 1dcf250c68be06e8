package io.rdmaraw.metrics;

import java.util.List;

/**
 * Something that has counters. Readable on any thread; values may be slightly stale, since the loops count
 * with plain stores.
 */
public interface RdmaRawMetered {
    /** Returns what is counted; always the same list for one class. */
    List<RdmaRawMetric> metrics();

    /**
     * Returns a count.
     *
     * @throws IllegalArgumentException when the metric is not one of {@link #metrics()}
     */
    long value(RdmaRawMetric metric);
}
