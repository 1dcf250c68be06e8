package io.rdmaraw.verbs;

import java.util.Locale;

/**
 * Selects whether frames are received with striding (multi-packet) receive queues. A receive request is then a
 * long buffer divided into strides, and each frame occupies as many strides as it needs. The device fetches one
 * request for many frames, and short frames waste no memory. Requires an mlx5 device with
 * {@linkplain DirectAccess direct access}.
 */
public enum StridingReceive {
    /** Use striding receive queues if the device supports them. */
    AUTO,
    /** Never use them: each request holds one frame. */
    NEVER,
    /** Require them. Opening a queue fails if the device does not support them. */
    REQUIRED;

    /**
     * The system property that sets the default: {@code auto}, {@code never} or {@code required}. Unset means
     * {@code never}.
     */
    public static final String PROPERTY = "io.rdmaraw.stridingReceive";

    /**
     * Returns the default set by {@link #PROPERTY}.
     *
     * @throws IllegalArgumentException if the property has another value
     */
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
