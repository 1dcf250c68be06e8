package io.rdmaraw.microbench.frames;

import java.util.List;

/**
 * The options of the frames bench.
 *
 * @param device        name of the device as printed by {@code devinfo}
 * @param frameBytes    length of the frames without FCS
 * @param bursts        frames per send call, one case each
 * @param runs          number of measurements of each case; C and Java alternate
 * @param runSeconds    duration of one measurement
 * @param warmUpSeconds duration of the warm-up before the first Java measurement of a case
 */
record FramesBenchOptions(String device, int frameBytes, List<Integer> bursts, int runs, double runSeconds,
        double warmUpSeconds) {
}
