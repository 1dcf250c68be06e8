package io.rdmaraw.host.kernel;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.net.Link;

/** Logs changes of a device's link that affect its connections. Not thread-safe. */
final class LinkChangeLogger {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(LinkChangeLogger.class);

    private final String deviceName;
    private Link last;

    LinkChangeLogger(String deviceName, Link link) {
        this.deviceName = deviceName;
        last = link;
    }

    /**
     * Compares the link with its previous state and logs the difference.
     *
     * @param linkOrNull the present state of the link; null if it no longer exists
     */
    void update(Link linkOrNull) {
        Link before = last;
        last = linkOrNull;
        if (before == null || linkOrNull == null) {
            if (before != null) {
                LOGGER.warn("{} of {} is gone", before.name(), deviceName);
            }
            return;
        }
        if (!before.name().equals(linkOrNull.name())) {
            LOGGER.info("{} of {} is called {} now", before.name(), deviceName, linkOrNull.name());
        }
        if (before.isUp() && !linkOrNull.isUp()) {
            LOGGER.warn("{} of {} is down; connections wait until it is up again: ip link show {}", linkOrNull.name(),
                    deviceName, linkOrNull.name());
        } else if (!before.isUp() && linkOrNull.isUp()) {
            LOGGER.info("{} of {} is up again", linkOrNull.name(), deviceName);
        }
    }
}
