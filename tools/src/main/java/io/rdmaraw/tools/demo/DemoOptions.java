package io.rdmaraw.tools.demo;

/**
 * The options of the demo.
 *
 * @param device     device of the sending loop, as named by {@code devinfo}
 * @param echoDevice device of the echoing loop: the same device or one that it reaches
 * @param seconds    duration for which frames are sent, more than 0
 * @param frameBytes length of a frame without FCS, {@value ProbeFrame#MIN_BYTES} or more
 * @param window     number of frames in flight
 */
record DemoOptions(String device, String echoDevice, double seconds, int frameBytes, int window) {
}
