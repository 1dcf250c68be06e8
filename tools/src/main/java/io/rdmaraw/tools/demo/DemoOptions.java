package io.rdmaraw.tools.demo;

/**
 * The options of the demo.
 *
 * @param device     as {@code devinfo} names it
 * @param echoDevice where frames are echoed: the same device, or one that it reaches
 * @param seconds    how long frames are sent, more than 0
 * @param frameBytes length of a frame without FCS, {@value ProbeFrame#MIN_BYTES} or more
 * @param window     frames under way at once
 */
record DemoOptions(String device, String echoDevice, double seconds, int frameBytes, int window) {
}
