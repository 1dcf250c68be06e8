package io.rdmaraw.tools.perf;

/** Tells from the numbers of received frames how many were lost and how many came late. One thread. */
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

    /** The number nearest to a known one whose low 31 bits are these. */
    static long extend(long near, long stamp) {
        int unused = Integer.SIZE - NUMBER_BITS;
        return near + ((int) (stamp - near) << unused >> unused);
    }

    /** Frames that are missing between the lowest and the highest number; -1 where frames have no numbers. */
    long lost() {
        return unnumbered > 0 || received == 0 ? BandwidthSample.UNKNOWN : Math.max(0, highest - first + 1 - received);
    }

    /** Frames that came after one with a higher number. */
    long reordered() {
        return reordered;
    }
}
