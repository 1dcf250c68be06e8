package io.rdmaraw.tools.run;

import io.rdmaraw.verbs.objects.QueuePairOptions;

/**
 * Enables self-loopback for tools that use the same device for both ends. By default, a port of a card does not receive
 * its own frames.
 */
public final class SelfLoopback {
    private SelfLoopback() {
    }

    /** Enables self-loopback for queue pairs created from now on, unless the user has set the property. */
    public static void enable() {
        if (System.getProperty(QueuePairOptions.SELF_LOOPBACK_PROPERTY) == null) {
            System.setProperty(QueuePairOptions.SELF_LOOPBACK_PROPERTY, "true");
        }
    }
}
