package io.rdmaraw.microbench.result;

import java.util.Arrays;
import java.util.List;

/** Minimum, median and maximum of repeated runs of one measurement. */
public record Distribution(double min, double median, double max, int runs) {
    /** Summarises the values of all runs. If their number is even, the median is the mean of the middle two. */
    public static Distribution of(List<Double> values) {
        if (values.isEmpty()) {
            throw new IllegalArgumentException("no run, no distribution");
        }
        double[] sorted = values.stream().mapToDouble(Double::doubleValue).toArray();
        Arrays.sort(sorted);
        int middle = sorted.length / 2;
        double median = sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
        return new Distribution(sorted[0], median, sorted[sorted.length - 1], sorted.length);
    }
}
