package io.rdmaraw.verbs;

import java.util.Locale;

/**
 * Whether the transport writes and reads the rings of a device's queues in place ("direct verbs"), without a call per
 * burst. mlx5 devices support it.
 */
public enum DirectAccess {
    /** Use it if the device supports it. */
    AUTO,
    /** Never use it; go through libibverbs. */
    NEVER,
    /** Fail to open the queue if the device does not support it. */
    REQUIRED;

    /** The system property with the default; {@code auto} if it is not set. */
    public static final String PROPERTY = "io.rdmaraw.directVerbs";

    /** Returns the value of {@link #PROPERTY}. */
    public static DirectAccess ofProperty() {
        String value = System.getProperty(PROPERTY, AUTO.name());
        try {
            return valueOf(value.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("the system property " + PROPERTY + " is auto, never or required, not "
                    + value, e);
        }
    }
}
