package io.rdmaraw.verbs;

import io.rdmaraw.verbs.mlx5.Mlx5dv;
import java.util.Locale;

/**
 * Whether the rings of a device's queues are written and read in place ("direct verbs"), without a call for each burst.
 * Devices of mlx5 can do it.
 */
public enum DirectVerbs {
    /** Where it can be done. */
    AUTO,
    /** Nowhere: frames go through the calls of libibverbs. */
    NEVER,
    /** Or the queue is not opened. */
    REQUIRED;

    /** The system property that says what is done where nothing else is asked for; {@code auto} if it is not set. */
    public static final String PROPERTY = "io.rdmaraw.directVerbs";

    /** Returns what {@link #PROPERTY} says. */
    public static DirectVerbs ofProperty() {
        String value = System.getProperty(PROPERTY, AUTO.name());
        try {
            return valueOf(value.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("the system property " + PROPERTY + " is auto, never or required, not "
                    + value, e);
        }
    }

    /**
     * Tells whether the rings of a device are to be used in place.
     *
     * @throws UnsupportedOperationException when they must be and cannot be
     */
    public boolean isFor(VerbsContext context) {
        if (this == NEVER) {
            return false;
        }
        String unavailability = Mlx5dv.unavailability(context);
        if (this == REQUIRED && unavailability != null) {
            throw new UnsupportedOperationException("direct verbs are required, but " + unavailability
                    + "; use a device of mlx5, or leave the choice to the transport (DirectVerbs.AUTO)");
        }
        return unavailability == null;
    }
}
