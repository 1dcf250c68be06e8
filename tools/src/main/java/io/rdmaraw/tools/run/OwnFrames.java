package io.rdmaraw.tools.run;

import io.rdmaraw.verbs.QueuePairOptions;

/** Runs of a tool whose two ends are on one device: a port of a card receives nothing of its own unless asked to. */
public final class OwnFrames {
    private OwnFrames() {
    }

    /** Has the queue pairs that are made from now on receive what their own ports send. The user's setting stays. */
    public static void receive() {
        if (System.getProperty(QueuePairOptions.SELF_LOOPBACK_PROPERTY) == null) {
            System.setProperty(QueuePairOptions.SELF_LOOPBACK_PROPERTY, "true");
        }
    }
}
