package io.rdmaraw.metrics;

import java.util.List;

/**
 * An object with counters. Readable on any thread. Values may be slightly stale, since loops count with plain
 * stores.
 */
public interface RdmaRawMetered {
    /** Returns the metrics of this object. All objects of one class return the same list. */
    List<RdmaRawMetric> metrics();

    /**
     * Returns the current value of a metric.
     *
     * @throws IllegalArgumentException if the metric is not in {@link #metrics()}
     */
    long value(RdmaRawMetric metric);
}
