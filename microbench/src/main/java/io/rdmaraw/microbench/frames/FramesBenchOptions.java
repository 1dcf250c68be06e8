package io.rdmaraw.microbench.frames;

import java.util.List;

/**
 * How the frames are measured.
 *
 * @param device        as {@code devinfo} names it
 * @param frameBytes    length of the frames without FCS
 * @param bursts        frames per send call, one case each
 * @param runs          measurements of each case; C and Java take turns
 * @param runSeconds    length of one measurement
 * @param warmUpSeconds before the first measurement of a case in Java
 */
record FramesBenchOptions(String device, int frameBytes, List<Integer> bursts, int runs, double runSeconds,
        double warmUpSeconds) {
}
