package io.rdmaraw.tools.demo;

/**
 * What to run.
 *
 * @param device     as {@code devinfo} names it
 * @param seconds    how long frames are sent, more than 0
 * @param frameBytes length of a frame without FCS, {@value ProbeFrame#MIN_BYTES} or more
 * @param window     frames under way at once
 */
record DemoOptions(String device, double seconds, int frameBytes, int window) {
}
