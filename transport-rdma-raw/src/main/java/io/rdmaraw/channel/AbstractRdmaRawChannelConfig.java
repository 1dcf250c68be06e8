package io.rdmaraw.channel;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelConfig;
import io.netty.channel.MessageSizeEstimator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.WriteBufferWaterMark;

import java.util.Map;

/**
 * What the settings of all channels of this transport have in common: options by an {@link OptionTable}, the registered
 * allocator, and setters that return the kind of settings that they were called on. Can be set on any thread.
 *
 * @param <C> the settings themselves
 */
abstract class AbstractRdmaRawChannelConfig<C extends AbstractRdmaRawChannelConfig<C>> extends DefaultChannelConfig {
    private final AbstractRdmaRawChannel rdmaRawChannel;

    AbstractRdmaRawChannelConfig(AbstractRdmaRawChannel channel) {
        super(channel);
        rdmaRawChannel = channel;
        super.setAllocator(RdmaRawByteBufAllocator.DEFAULT);
    }

    AbstractRdmaRawChannelConfig(AbstractRdmaRawChannel channel, RecvByteBufAllocator allocator) {
        super(channel, allocator);
        rdmaRawChannel = channel;
        super.setAllocator(RdmaRawByteBufAllocator.DEFAULT);
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
        return self();
    }

    @Override
    public C setRecvByteBufAllocator(RecvByteBufAllocator allocator) {
        super.setRecvByteBufAllocator(allocator);
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
