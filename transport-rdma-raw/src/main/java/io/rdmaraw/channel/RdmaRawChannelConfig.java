package io.rdmaraw.channel;

import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelConfig;
import io.netty.util.internal.ObjectUtil;

import java.util.Map;

/** The settings of a {@link RdmaRawChannel}. Can be set on any thread. */
public final class RdmaRawChannelConfig extends DefaultChannelConfig {
    private final RdmaRawChannel channel;
    private volatile boolean frameBursts;
    private volatile int receiveBacklog = 256;

    RdmaRawChannelConfig(RdmaRawChannel channel) {
        super(channel);
        this.channel = channel;
        setAllocator(RdmaRawByteBufAllocator.DEFAULT);
    }

    @Override
    public Map<ChannelOption<?>, Object> getOptions() {
        return getOptions(super.getOptions(), RdmaRawChannelOption.FRAME_BURSTS, RdmaRawChannelOption.RECEIVE_BACKLOG);
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T> T getOption(ChannelOption<T> option) {
        if (option == RdmaRawChannelOption.FRAME_BURSTS) {
            return (T) (Boolean) frameBursts;
        }
        if (option == RdmaRawChannelOption.RECEIVE_BACKLOG) {
            return (T) (Integer) receiveBacklog;
        }
        return super.getOption(option);
    }

    @Override
    public <T> boolean setOption(ChannelOption<T> option, T value) {
        if (option == RdmaRawChannelOption.FRAME_BURSTS) {
            validate(option, value);
            setFrameBursts((Boolean) value);
            return true;
        }
        if (option == RdmaRawChannelOption.RECEIVE_BACKLOG) {
            validate(option, value);
            setReceiveBacklog((Integer) value);
            return true;
        }
        return super.setOption(option, value);
    }

    /** Tells whether frames are fired by bursts; see {@link RdmaRawChannelOption#FRAME_BURSTS}. */
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

    /** Sets {@link RdmaRawChannelOption#RECEIVE_BACKLOG}, in frames; 0 keeps none. */
    public RdmaRawChannelConfig setReceiveBacklog(int frames) {
        receiveBacklog = ObjectUtil.checkPositiveOrZero(frames, "frames");
        return this;
    }

    @Override
    protected void autoReadCleared() {
        channel.stopReading();
    }
}
