package io.rdmaraw.channel;

import java.util.Locale;

/**
 * What a group's loops do about TCP and UDP channels of NIO that are registered on them. The kernel carries such
 * channels, as on Netty's own loops: nothing goes by the device. Some programs want that; others meet a framework that
 * chooses {@code NioSocketChannel} for every group whose loops can drive it, and would not notice.
 */
public enum NioChannels {
    /** They are served, without a word. */
    ALLOWED,
    /** They are served; the first one of the group is logged at WARN. The default. */
    REPORTED,
    /**
     * They fail to register. The loops answer that they cannot drive NIO channels, too, so that a framework that asks
     * finds another way or says that there is none.
     */
    REFUSED;

    /** The system property that sets the default of {@link RdmaRawIoHandlerConfig.Builder#nioChannels}. */
    public static final String PROPERTY = "io.rdmaraw.nioChannels";

    static NioChannels ofProperty() {
        String value = System.getProperty(PROPERTY, REPORTED.name());
        try {
            return valueOf(value.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("-D" + PROPERTY + "=" + value + ": allowed, reported or refused", e);
        }
    }
}
