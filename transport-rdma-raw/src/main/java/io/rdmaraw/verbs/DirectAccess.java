package io.rdmaraw.verbs;

import java.util.Locale;

/**
 * Selects whether the transport accesses the rings of a queue directly ("direct verbs"), which avoids a library
 * call per burst. mlx5 devices support direct access.
 */
public enum DirectAccess {
    /** Use direct access if the device supports it. */
    AUTO,
    /** Always call libibverbs. */
    NEVER,
    /** Require direct access. Opening a queue fails if the device does not support it. */
    REQUIRED;

    /**
     * The system property that sets the default: {@code auto}, {@code never} or {@code required}. Unset means
     * {@code auto}.
     */
    public static final String PROPERTY = "io.rdmaraw.directVerbs";

    /**
     * Returns the default set by {@link #PROPERTY}.
     *
     * @throws IllegalArgumentException if the property has another value
     */
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
