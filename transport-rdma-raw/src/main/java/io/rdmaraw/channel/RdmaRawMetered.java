package io.rdmaraw.channel;

import java.util.List;

/**
 * Something that counts what it does. May be asked on any thread; values may be a little old, since the loops count
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
