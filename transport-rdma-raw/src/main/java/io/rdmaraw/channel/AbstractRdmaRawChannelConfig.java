package io.rdmaraw.channel;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelConfig;
import io.netty.channel.MessageSizeEstimator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.WriteBufferWaterMark;
import io.rdmaraw.memory.RegisteredByteBufAllocator;

import java.util.Map;

/**
 * What the settings of all channels of this transport have in common: options by an {@link OptionTable}, the registered
 * allocator, and setters that return the kind of settings that they were called on. Can be set on any thread.
 *
 * @param <C> the settings themselves
 */
abstract class AbstractRdmaRawChannelConfig<C extends AbstractRdmaRawChannelConfig<C>> extends DefaultChannelConfig {
    private final AbstractRdmaRawChannel rdmaRawChannel;
    private volatile boolean copiesReceived;
    private volatile boolean readsAsSet;

    AbstractRdmaRawChannelConfig(AbstractRdmaRawChannel channel) {
        super(channel);
        rdmaRawChannel = channel;
        begin();
    }

    AbstractRdmaRawChannelConfig(AbstractRdmaRawChannel channel, RecvByteBufAllocator allocator) {
        super(channel, allocator);
        rdmaRawChannel = channel;
        begin();
    }

    /** The constructor of Netty's settings calls setters: what they noted was not the user's choice. */
    private void begin() {
        super.setAllocator(RdmaRawByteBufAllocator.DEFAULT);
        readsAsSet = false;
    }

    /**
     * Tells whether received data are copied into buffers of the channel's allocator: the user has set one that is not
     * of this transport, and expects that what is received comes from it.
     */
    final boolean copiesReceived() {
        return copiesReceived;
    }

    /** Tells whether the user has said how much is read between two {@code channelReadComplete}s. */
    final boolean readsAsSet() {
        return readsAsSet;
    }

    /** Tells whether what came in may be handed on a burst at a time, in the buffers that it came in. */
    final boolean takesRuns() {
        return !readsAsSet && !copiesReceived;
    }

    /** Returns the options that these settings have beside those of all channels. */
    abstract OptionTable<? super C> table();

    @SuppressWarnings("unchecked") // as the type parameter is defined
    private C self() {
        return (C) this;
    }

    @Override
    public Map<ChannelOption<?>, Object> getOptions() {
        return getOptions(super.getOptions(), table().options());
    }

    @Override
    public <T> T getOption(ChannelOption<T> option) {
        return table().has(option) ? table().get(self(), option) : super.getOption(option);
    }

    @Override
    public <T> boolean setOption(ChannelOption<T> option, T value) {
        if (!table().has(option)) {
            return super.setOption(option, value);
        }
        validate(option, value);
        table().set(self(), option, value);
        return true;
    }

    @Override
    protected final void autoReadCleared() {
        rdmaRawChannel.autoReadCleared();
    }

    @Override
    public C setConnectTimeoutMillis(int millis) {
        super.setConnectTimeoutMillis(millis);
        return self();
    }

    @Override
    @Deprecated
    public C setMaxMessagesPerRead(int messages) {
        super.setMaxMessagesPerRead(messages);
        readsAsSet = true;
        return self();
    }

    @Override
    public C setWriteSpinCount(int count) {
        super.setWriteSpinCount(count);
        return self();
    }

    @Override
    public C setAllocator(ByteBufAllocator allocator) {
        super.setAllocator(allocator);
        copiesReceived = !(allocator instanceof RdmaRawByteBufAllocator
                || allocator instanceof RegisteredByteBufAllocator);
        return self();
    }

    @Override
    public C setRecvByteBufAllocator(RecvByteBufAllocator allocator) {
        super.setRecvByteBufAllocator(allocator);
        readsAsSet = true;
        return self();
    }

    @Override
    public C setAutoRead(boolean autoRead) {
        super.setAutoRead(autoRead);
        return self();
    }

    @Override
    public C setAutoClose(boolean autoClose) {
        super.setAutoClose(autoClose);
        return self();
    }

    @Override
    public C setMessageSizeEstimator(MessageSizeEstimator estimator) {
        super.setMessageSizeEstimator(estimator);
        return self();
    }

    @Override
    public C setWriteBufferHighWaterMark(int bytes) {
        super.setWriteBufferHighWaterMark(bytes);
        return self();
    }

    @Override
    public C setWriteBufferLowWaterMark(int bytes) {
        super.setWriteBufferLowWaterMark(bytes);
        return self();
    }

    @Override
    public C setWriteBufferWaterMark(WriteBufferWaterMark waterMark) {
        super.setWriteBufferWaterMark(waterMark);
        return self();
    }
}
