package io.rdmaraw.verbs;

import java.util.Locale;

/**
 * Whether frames are received by striding queues ("multi-packet receive queues"): a receive request is then a long
 * buffer of which each frame takes as much as it is long, so that the device fetches one request for many frames, and
 * short frames leave no room unused behind them. Devices of mlx5 can do it where their rings are used in place.
 */
public enum StridingReceive {
    /** Where it can be done. */
    AUTO,
    /** Nowhere: each request is for one frame. */
    NEVER,
    /** Or the queue is not opened. */
    REQUIRED;

    /** The system property that says what is done where nothing else is asked for; {@code never} if it is not set. */
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
