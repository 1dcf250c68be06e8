package io.rdmaraw.channel;

import io.rdmaraw.channel.loop.NioRegistrations;
import java.util.Locale;

/**
 * Policy for NIO channels of TCP and UDP that are registered with loops of this transport. The kernel carries these
 * channels; they do not use the device. Pipes and Unix domain sockets are always served.
 *
 * <p>Some programs use such channels intentionally. Some frameworks, however, choose {@code NioSocketChannel} for every
 * group that can drive it. The default therefore reports them.
 */
public enum NioChannels {
    /** NIO channels are served and not reported. */
    ALLOWED,
    /** NIO channels are served. The first one of a group is logged at WARN. The default. */
    REPORTED,
    /**
     * NIO channels fail to register. The loops also report that they cannot drive NIO channels, so that a framework can
     * choose other channel classes or fail.
     */
    REFUSED;

    /**
     * System property with the default of {@link RdmaRawIoHandlerConfig.Builder#nioChannels}: {@code allowed},
     * {@code reported} or {@code refused}.
     */
    public static final String PROPERTY = NioRegistrations.PROPERTY;

    static NioChannels ofProperty() {
        String value = System.getProperty(PROPERTY, REPORTED.name());
        try {
            return valueOf(value.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("-D" + PROPERTY + "=" + value + " is invalid: use allowed, reported or"
                    + " refused", e);
        }
    }
}
