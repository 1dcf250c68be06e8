package io.rdmaraw.tools.perf;

/** Computes lost and late frames from the numbers of received frames. Used by one thread. */
final class FrameNumbers {
    private static final int NUMBER_BITS = 31;

    private long first = -1;
    private long highest = -1;
    private long received;
    private long reordered;
    private long unnumbered;

    /** @param stamp of a frame that is no warm-up, or {@link Stamp#NONE} */
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

    /** Returns the number with these low 31 bits that is nearest to a known number. */
    static long extend(long near, long stamp) {
        int unused = Integer.SIZE - NUMBER_BITS;
        return near + ((int) (stamp - near) << unused >> unused);
    }

    /** Returns how many numbers are missing between the lowest and the highest; -1 if frames have no numbers. */
    long lost() {
        return unnumbered > 0 || received == 0 ? BandwidthSample.UNKNOWN : Math.max(0, highest - first + 1 - received);
    }

    /** Returns how many frames arrived after one with a higher number. */
    long reordered() {
        return reordered;
    }
}
