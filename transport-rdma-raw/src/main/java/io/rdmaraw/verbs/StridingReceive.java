package io.rdmaraw.verbs;

import java.util.Locale;

/**
 * Whether frames are received by striding (multi-packet) receive queues: a receive request is then a long buffer of
 * which each frame takes as many strides as it needs. The device fetches one request for many frames, and short frames
 * waste no memory. mlx5 devices support it where their rings are used in place.
 */
public enum StridingReceive {
    /** Use it if the device supports it. */
    AUTO,
    /** Never use it; each request is for one frame. */
    NEVER,
    /** Fail to open the queue if the device does not support it. */
    REQUIRED;

    /** The system property with the default; {@code never} if it is not set. */
    public static final String PROPERTY = "io.rdmaraw.stridingReceive";

    /** Returns what {@link #PROPERTY} says. */
    public static StridingReceive ofProperty() {
        String value = System.getProperty(PROPERTY, NEVER.name());
        try {
            return valueOf(value.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("the system property " + PROPERTY + " is auto, never or required, not "
                    + value, e);
        }
    }
}
