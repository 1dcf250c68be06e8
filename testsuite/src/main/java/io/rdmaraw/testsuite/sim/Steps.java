package io.rdmaraw.testsuite.sim;

/**
 * Counts the core's work in steps instead of time. A step is one loop iteration or eight copied array elements.
 * {@link StepCountingLoader} inserts the calls into the core's classes; other loaders count nothing.
 */
public final class Steps {
    private static final int ELEMENTS_SHIFT = 3;
    private static long count;

    private Steps() {
    }

    /** Counts one loop iteration. */
    public static void turn() {
        count++;
    }

    /** Counts {@code elements} copied array elements. */
    public static void moved(int elements) {
        count += elements >> ELEMENTS_SHIFT;
    }

    static long count() {
        return count;
    }
}
