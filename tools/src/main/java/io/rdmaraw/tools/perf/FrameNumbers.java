package io.rdmaraw.tools.perf;

/** Computes lost and late frames from the numbers of received frames. Used by one thread. */
final class FrameNumbers {
    private static final int NUMBER_BITS = 31;

    private long first = -1;
    private long highest = -1;
    private long received;
    private long reordered;
    private long unnumbered;

    /**
     * Counts a received frame.
     *
     * @param stamp stamp of a frame that is not part of the warm-up, or {@link Stamp#NONE}
     */
    void add(long stamp) {
        if (stamp == Stamp.NONE) {
            unnumbered++;
            return;
        }
        received++;
        if (first < 0) {
            first = stamp;
            highest = stamp;
            return;
        }
        long number = extend(highest, stamp);
        if (number > highest) {
            highest = number;
        } else {
            reordered++;
            first = Math.min(first, number);
        }
    }

    /** Extends a 31-bit number to the number nearest to {@code near} with the same low bits. */
    static long extend(long near, long stamp) {
        int unused = Integer.SIZE - NUMBER_BITS;
        return near + ((int) (stamp - near) << unused >> unused);
    }

    /** Returns the count of missing numbers between the lowest and the highest; -1 if frames carry no numbers. */
    long lost() {
        return unnumbered > 0 || received == 0 ? BandwidthSample.UNKNOWN : Math.max(0, highest - first + 1 - received);
    }

    /** Returns the count of frames that arrived after one with a higher number. */
    long reordered() {
        return reordered;
    }
}
