package io.rdmaraw.testsuite.sim;

/**
 * Work of the core counted in steps instead of time: a step is a turn of a loop, or eight elements of an array moved.
 * {@link StepCountingLoader} puts the calls into the core's classes; loaded otherwise the core counts nothing.
 */
public final class Steps {
    private static final int ELEMENTS_SHIFT = 3;
    private static long count;

    private Steps() {
    }

    /** A loop begins its next turn. */
    public static void turn() {
        count++;
    }

    /** So many elements of an array are moved. */
    public static void moved(int elements) {
        count += elements >> ELEMENTS_SHIFT;
    }

    static long count() {
        return count;
    }
}
