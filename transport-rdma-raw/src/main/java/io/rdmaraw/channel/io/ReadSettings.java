package io.rdmaraw.channel.io;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.DefaultChannelConfig;

/** The options of a channel that decide how received data is fired. Written and read on any thread. */
public final class ReadSettings {
    private final DefaultChannelConfig config;
    private volatile boolean copying;
    private volatile boolean limited;

    public ReadSettings(DefaultChannelConfig config) {
        this.config = config;
    }

    /**
     * Returns whether received data is copied into buffers of the channel's allocator. True if the user has set an
     * allocator other than this transport's, for example {@code PooledByteBufAllocator.DEFAULT}: the user then expects
     * buffers of that allocator.
     */
    public boolean isCopying() {
        return copying;
    }

    public void setCopying(boolean copy) {
        copying = copy;
    }

    /** Returns whether the user has limited the messages between two {@code channelReadComplete} events. */
    public boolean isLimited() {
        return limited;
    }

    public void setLimited() {
        limited = true;
    }

    /**
     * Returns whether these options permit to deliver a burst without per-message checks: no read limit is set and
     * nothing is copied. {@link Inbox#allowsUncheckedReads} also checks that the user reads.
     */
    public boolean allowsUncheckedReads() {
        return !limited && !copying;
    }

    public boolean isAutoRead() {
        return config.isAutoRead();
    }

    public ByteBufAllocator allocator() {
        return config.getAllocator();
    }
}
