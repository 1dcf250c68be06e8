package io.rdmaraw.channel;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelConfig;
import io.netty.channel.MessageSizeEstimator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.ServerChannelRecvByteBufAllocator;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.socket.ServerSocketChannelConfig;
import io.netty.util.NetUtil;
import io.netty.util.internal.ObjectUtil;

import java.util.Map;

/** The settings of a {@link RdmaRawServerSocketChannel}. Can be set on any thread; those of binding, before it. */
public final class RdmaRawServerSocketChannelConfig extends DefaultChannelConfig implements ServerSocketChannelConfig {
    private final RdmaRawServerSocketChannel channel;
    private volatile int backlog = Math.max(1, NetUtil.SOMAXCONN);
    private volatile int receiveBufferBytes = RdmaRawSocketChannelConfig.DEFAULT_RECEIVE_BUFFER_BYTES;
    private volatile boolean reuseAddress = true;
    private volatile boolean reusePort;
    private volatile RdmaRawEventLoopGroup acceptGroup;

    RdmaRawServerSocketChannelConfig(RdmaRawServerSocketChannel channel) {
        super(channel, new ServerChannelRecvByteBufAllocator());
        this.channel = channel;
        super.setAllocator(RdmaRawByteBufAllocator.DEFAULT);
    }

    /** Hands what accepted connections inherit to one of them. */
    void applyTo(RdmaRawSocketChannelConfig child) {
        child.setReceiveBufferSize(receiveBufferBytes);
    }

    @Override
    public Map<ChannelOption<?>, Object> getOptions() {
        return getOptions(super.getOptions(), ChannelOption.SO_BACKLOG, ChannelOption.SO_RCVBUF,
                ChannelOption.SO_REUSEADDR, RdmaRawChannelOption.SO_REUSEPORT,
                RdmaRawChannelOption.ACCEPT_GROUP);
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T> T getOption(ChannelOption<T> option) {
        Object value;
        if (option == ChannelOption.SO_BACKLOG) {
            value = backlog;
        } else if (option == ChannelOption.SO_RCVBUF) {
            value = receiveBufferBytes;
        } else if (option == ChannelOption.SO_REUSEADDR) {
            value = reuseAddress;
        } else if (option == RdmaRawChannelOption.SO_REUSEPORT) {
            value = reusePort;
        } else if (option == RdmaRawChannelOption.ACCEPT_GROUP) {
            value = acceptGroup;
        } else {
            return super.getOption(option);
        }
        return (T) value;
    }

    @Override
    public <T> boolean setOption(ChannelOption<T> option, T value) {
        validate(option, value);
        if (option == ChannelOption.SO_BACKLOG) {
            setBacklog((Integer) value);
        } else if (option == ChannelOption.SO_RCVBUF) {
            setReceiveBufferSize((Integer) value);
        } else if (option == ChannelOption.SO_REUSEADDR) {
            setReuseAddress((Boolean) value);
        } else if (option == RdmaRawChannelOption.SO_REUSEPORT) {
            setReusePort((Boolean) value);
        } else if (option == RdmaRawChannelOption.ACCEPT_GROUP) {
            setAcceptGroup((RdmaRawEventLoopGroup) value);
        } else {
            return super.setOption(option, value);
        }
        return true;
    }

    @Override
    public int getBacklog() {
        return backlog;
    }

    /**
     * Sets how many connections may be half open, and as many again accepted and not yet read from the channel. Half
     * open ones beyond it are answered with SYN cookies.
     */
    @Override
    public RdmaRawServerSocketChannelConfig setBacklog(int connections) {
        backlog = Math.max(1, ObjectUtil.checkPositiveOrZero(connections, "backlog"));
        return this;
    }

    @Override
    public boolean isReuseAddress() {
        return reuseAddress;
    }

    /** Kept for programs that ask for it: connections in TIME-WAIT never keep a port from being listened on. */
    @Override
    public RdmaRawServerSocketChannelConfig setReuseAddress(boolean reuse) {
        reuseAddress = reuse;
        return this;
    }

    /** Tells whether other channels may listen on the same port and share its connections. */
    public boolean isReusePort() {
        return reusePort;
    }

    /** Sets {@link RdmaRawChannelOption#SO_REUSEPORT}. */
    public RdmaRawServerSocketChannelConfig setReusePort(boolean reuse) {
        reusePort = reuse;
        return this;
    }

    /** Returns the group whose loops serve the port; null for the server channel's own. */
    public RdmaRawEventLoopGroup getAcceptGroup() {
        return acceptGroup;
    }

    /** Sets {@link RdmaRawChannelOption#ACCEPT_GROUP}. */
    public RdmaRawServerSocketChannelConfig setAcceptGroup(RdmaRawEventLoopGroup group) {
        acceptGroup = group;
        return this;
    }

    @Override
    public int getReceiveBufferSize() {
        return receiveBufferBytes;
    }

    /** Sets the receive buffer of the connections to be accepted, in bytes. */
    @Override
    public RdmaRawServerSocketChannelConfig setReceiveBufferSize(int bytes) {
        receiveBufferBytes = ObjectUtil.checkPositive(bytes, "receiveBufferSize");
        return this;
    }

    @Override
    public RdmaRawServerSocketChannelConfig setPerformancePreferences(int connectionTime, int latency, int bandwidth) {
        return this;
    }

    @Override
    protected void autoReadCleared() {
        channel.stopReading();
    }

    @Override
    public RdmaRawServerSocketChannelConfig setConnectTimeoutMillis(int millis) {
        super.setConnectTimeoutMillis(millis);
        return this;
    }

    @Override
    @Deprecated
    public RdmaRawServerSocketChannelConfig setMaxMessagesPerRead(int messages) {
        super.setMaxMessagesPerRead(messages);
        return this;
    }

    @Override
    public RdmaRawServerSocketChannelConfig setWriteSpinCount(int count) {
        super.setWriteSpinCount(count);
        return this;
    }

    @Override
    public RdmaRawServerSocketChannelConfig setAllocator(ByteBufAllocator allocator) {
        super.setAllocator(allocator);
        return this;
    }

    @Override
    public RdmaRawServerSocketChannelConfig setRecvByteBufAllocator(RecvByteBufAllocator allocator) {
        super.setRecvByteBufAllocator(allocator);
        return this;
    }

    @Override
    public RdmaRawServerSocketChannelConfig setAutoRead(boolean autoRead) {
        super.setAutoRead(autoRead);
        return this;
    }

    @Override
    public RdmaRawServerSocketChannelConfig setMessageSizeEstimator(MessageSizeEstimator estimator) {
        super.setMessageSizeEstimator(estimator);
        return this;
    }

    @Override
    public RdmaRawServerSocketChannelConfig setWriteBufferHighWaterMark(int bytes) {
        super.setWriteBufferHighWaterMark(bytes);
        return this;
    }

    @Override
    public RdmaRawServerSocketChannelConfig setWriteBufferLowWaterMark(int bytes) {
        super.setWriteBufferLowWaterMark(bytes);
        return this;
    }

    @Override
    public RdmaRawServerSocketChannelConfig setWriteBufferWaterMark(WriteBufferWaterMark waterMark) {
        super.setWriteBufferWaterMark(waterMark);
        return this;
    }
}
