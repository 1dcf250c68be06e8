package io.rdmaraw.channel;

import io.netty.util.internal.ObjectUtil;
import io.rdmaraw.channel.settings.OptionTable;

/** The configuration of a {@link RdmaRawChannel}. Options can be set on any thread at any time. */
public final class RdmaRawChannelConfig extends AbstractRdmaRawChannelConfig<RdmaRawChannelConfig> {
    private static final OptionTable<RdmaRawChannelConfig> TABLE = new OptionTable<RdmaRawChannelConfig>()
            .with(RdmaRawChannelOption.FRAME_BURSTS, c -> c.frameBursts, RdmaRawChannelConfig::setFrameBursts)
            .with(RdmaRawChannelOption.RECEIVE_BACKLOG, c -> c.receiveBacklog, RdmaRawChannelConfig::setReceiveBacklog);

    private volatile boolean frameBursts;
    private volatile int receiveBacklog = 256;

    RdmaRawChannelConfig(RdmaRawChannel channel) {
        super(channel);
    }

    @Override
    OptionTable<RdmaRawChannelConfig> table() {
        return TABLE;
    }

    /** Returns whether received frames are fired in bursts; see {@link RdmaRawChannelOption#FRAME_BURSTS}. */
    public boolean isFrameBursts() {
        return frameBursts;
    }

    /** Sets {@link RdmaRawChannelOption#FRAME_BURSTS}. */
    public RdmaRawChannelConfig setFrameBursts(boolean bursts) {
        frameBursts = bursts;
        return this;
    }

    /** Returns {@link RdmaRawChannelOption#RECEIVE_BACKLOG}, in frames. */
    public int getReceiveBacklog() {
        return receiveBacklog;
    }

    /**
     * Sets {@link RdmaRawChannelOption#RECEIVE_BACKLOG}, in frames; 0 disables the backlog.
     *
     * @throws IllegalArgumentException if the number is negative
     */
    public RdmaRawChannelConfig setReceiveBacklog(int frames) {
        receiveBacklog = ObjectUtil.checkPositiveOrZero(frames, "frames");
        return this;
    }
}
