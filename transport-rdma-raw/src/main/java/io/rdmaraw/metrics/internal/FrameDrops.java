package io.rdmaraw.metrics.internal;

import java.util.List;
import java.util.function.ToLongFunction;

/**
 * The counters of an object for received frames that it drops.
 *
 * @param reasons  the reasons, in the order of the counters
 * @param counters the counters of the object's class
 * @param of       the object
 */
public record FrameDrops<T>(List<String> reasons, List<ToLongFunction<T>> counters, T of) {
    /** Returns the number of reasons. */
    public int size() {
        return reasons.size();
    }

    /** Reads the counters into an array. */
    public void read(long[] values) {
        for (int i = 0; i < counters.size(); i++) {
            values[i] = counters.get(i).applyAsLong(of);
        }
    }

    /** Returns the first reason that was counted since {@link #read}, or null. */
    public String reasonSinceOrNull(long[] values) {
        for (int i = 0; i < counters.size(); i++) {
            if (counters.get(i).applyAsLong(of) != values[i]) {
                return reasons.get(i);
            }
        }
        return null;
    }
}
