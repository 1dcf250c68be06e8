package io.rdmaraw.channel;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelException;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelConfig;
import io.netty.channel.MessageSizeEstimator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.WriteBufferWaterMark;
import io.rdmaraw.channel.io.ReadSettings;
import io.rdmaraw.channel.settings.OptionTable;
import io.rdmaraw.kernel.UnixOptions;
import io.rdmaraw.memory.RegisteredByteBufAllocator;
import io.rdmaraw.net.socket.NumberedOptions;

import java.io.IOException;
import java.util.Map;

/**
 * The base of all channel configurations of this transport. It looks up options in an {@link OptionTable}, sets the
 * registered allocator as default, and narrows the return type of setters. Options can be set on any thread; some must
 * be set before binding or connecting.
 *
 * @param <C> the type of the configuration
 */
abstract class AbstractRdmaRawChannelConfig<C extends AbstractRdmaRawChannelConfig<C>> extends DefaultChannelConfig {
    /** Minimum of {@code SO_SNDBUF} (Linux: SOCK_MIN_SNDBUF, twice the memory of a 2 KiB segment). */
    static final int MIN_SEND_BUFFER_BYTES = 4608;
    private static final NumberedOptions NO_OPTIONS = new NumberedOptions();

    private final AbstractRdmaRawChannel rdmaRawChannel;
    /** Null if no option was set by number. */
    private volatile NumberedOptions kernelOptions;
    /** Null while the super constructor runs, which calls a setter. */
    private final ReadSettings readSettings = new ReadSettings(this);

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

    final ReadSettings readSettings() {
        return readSettings;
    }

    private void limitReads() {
        if (readSettings != null) {
            readSettings.setLimited();
        }
    }

    /** Returns the options that this configuration supports in addition to those of all channels. */
    abstract OptionTable<? super C> table();

    /** Returns whether a kernel socket may be behind this kind of channel. */
    boolean mayHaveKernelSocket() {
        return false;
    }

    /** Returns the options of the kernel's socket behind the channel. */
    final NumberedOptions kernelOptions() {
        NumberedOptions options = kernelOptions;
        return options != null ? options : NO_OPTIONS;
    }

    final boolean isKernelFlag(NumberedOptions.Key key) {
        return kernelOptions().isOn(key);
    }

    /** Returns whether the channel may bind an address that this host does not have. */
    final boolean bindsForeignAddress() {
        return isKernelFlag(NumberedOptions.IP_TRANSPARENT) || isKernelFlag(NumberedOptions.IP_FREEBIND);
    }

    final void setKernelFlag(NumberedOptions.Key key, boolean on) {
        setKernelOption(key, NumberedOptions.ofInt(on ? 1 : 0));
    }

    /** Sets an option on the kernel's socket behind the channel, now or when the socket is opened. */
    private void setKernelOption(NumberedOptions.Key key, byte[] value) {
        byte[] previousOrNull;
        synchronized (this) {
            if (kernelOptions == null) {
                kernelOptions = new NumberedOptions();
            }
            previousOrNull = kernelOptions.getOrNull(key);
            kernelOptions.put(key, value);
        }
        try {
            rdmaRawChannel.kernelOptionChanged(key, value);
        } catch (IOException e) {
            kernelOptions.restore(key, previousOrNull);
            throw new ChannelException(e);
        } catch (RuntimeException e) {
            kernelOptions.restore(key, previousOrNull);
            throw e;
        }
    }

    @SuppressWarnings("unchecked") // C is the type of this object
    private C self() {
        return (C) this;
    }

    @Override
    public Map<ChannelOption<?>, Object> getOptions() {
        return getOptions(super.getOptions(), table().options());
    }

    @Override
    public <T> T getOption(ChannelOption<T> option) {
        if (table().has(option)) {
            return table().get(self(), option);
        }
        NumberedOptions.Key key = UnixOptions.keyOrNull(option);
        if (key != null) {
            byte[] value = kernelOptions().getOrNull(key);
            return value == null ? null : UnixOptions.decode(option, value);
        }
        return super.getOption(option);
    }

    @Override
    public <T> boolean setOption(ChannelOption<T> option, T value) {
        if (table().has(option)) {
            validate(option, value);
            table().set(self(), option, value);
            return true;
        }
        NumberedOptions.Key key = mayHaveKernelSocket() ? UnixOptions.keyOrNull(option) : null;
        if (key == null) {
            return super.setOption(option, value);
        }
        validate(option, value);
        setKernelOption(key, UnixOptions.encode(value));
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
        limitReads();
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
        readSettings.setCopying(!(allocator instanceof RdmaRawByteBufAllocator
                || allocator instanceof RegisteredByteBufAllocator));
        return self();
    }

    @Override
    public C setRecvByteBufAllocator(RecvByteBufAllocator allocator) {
        super.setRecvByteBufAllocator(allocator);
        limitReads();
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
