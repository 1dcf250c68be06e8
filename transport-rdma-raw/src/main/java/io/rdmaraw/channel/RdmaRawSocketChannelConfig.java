package io.rdmaraw.channel;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelConfig;
import io.netty.channel.MessageSizeEstimator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.socket.SocketChannelConfig;
import io.netty.util.internal.ObjectUtil;
import io.rdmaraw.tcp.TcpConnection;

import java.util.Map;

/** The settings of a {@link RdmaRawSocketChannel}. Can be set on any thread. */
public final class RdmaRawSocketChannelConfig extends DefaultChannelConfig implements SocketChannelConfig {
    static final int DEFAULT_RECEIVE_BUFFER_BYTES = 256 * 1024;
    private static final int DEFAULT_SEND_BUFFER_BYTES = 512 * 1024;
    private static final int LEAST_RECEIVE_BUFFER_BYTES = 2048;
    private static final int MAX_BYTE = 255;
    private static final int DSCP_SHIFT = 2;

    private final RdmaRawSocketChannel channel;
    private volatile int sendBufferBytes = DEFAULT_SEND_BUFFER_BYTES;
    private volatile int receiveBufferBytes = DEFAULT_RECEIVE_BUFFER_BYTES;
    private volatile int soLinger = -1;
    private volatile int trafficClass;
    /** Those of keepalive and user timeout are 0 while the core's defaults hold. */
    private volatile int keepIdleSeconds;
    private volatile int keepIntervalSeconds;
    private volatile int keepProbes;
    private volatile int userTimeoutMillis;
    private volatile boolean tcpNoDelay = true;
    private volatile boolean keepAlive;
    private volatile boolean reuseAddress;
    private volatile boolean allowHalfClosure;

    RdmaRawSocketChannelConfig(RdmaRawSocketChannel channel) {
        super(channel);
        this.channel = channel;
        super.setAllocator(RdmaRawByteBufAllocator.DEFAULT);
    }

    /** Hands the settings to a connection that has just been made, on its loop. */
    void applyTo(TcpConnection connection) {
        connection.noDelay(tcpNoDelay);
        connection.receiveBuffer(receiveBufferBytes);
        connection.dscp(trafficClass >>> DSCP_SHIFT);
        if (keepAlive) {
            connection.keepAlive(true);
        }
        if (keepIdleSeconds > 0) {
            connection.keepAliveIdleMillis(millis(keepIdleSeconds));
        }
        if (keepIntervalSeconds > 0) {
            connection.keepAliveIntervalMillis(millis(keepIntervalSeconds));
        }
        if (keepProbes > 0) {
            connection.keepAliveProbes(keepProbes);
        }
        if (userTimeoutMillis > 0) {
            connection.userTimeoutMillis(userTimeoutMillis);
        }
    }

    private static int millis(int seconds) {
        return (int) Math.min(Integer.MAX_VALUE, seconds * 1000L);
    }

    @Override
    public Map<ChannelOption<?>, Object> getOptions() {
        return getOptions(super.getOptions(), ChannelOption.SO_RCVBUF, ChannelOption.SO_SNDBUF,
                ChannelOption.TCP_NODELAY, ChannelOption.SO_KEEPALIVE, ChannelOption.SO_REUSEADDR,
                ChannelOption.SO_LINGER, ChannelOption.IP_TOS, ChannelOption.ALLOW_HALF_CLOSURE,
                RdmaRawChannelOption.TCP_KEEPIDLE, RdmaRawChannelOption.TCP_KEEPINTVL, RdmaRawChannelOption.TCP_KEEPCNT,
                RdmaRawChannelOption.TCP_USER_TIMEOUT);
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T> T getOption(ChannelOption<T> option) {
        Object value;
        if (option == ChannelOption.SO_RCVBUF) {
            value = receiveBufferBytes;
        } else if (option == ChannelOption.SO_SNDBUF) {
            value = sendBufferBytes;
        } else if (option == ChannelOption.TCP_NODELAY) {
            value = tcpNoDelay;
        } else if (option == ChannelOption.SO_KEEPALIVE) {
            value = keepAlive;
        } else if (option == ChannelOption.SO_REUSEADDR) {
            value = reuseAddress;
        } else if (option == ChannelOption.SO_LINGER) {
            value = soLinger;
        } else if (option == ChannelOption.IP_TOS) {
            value = trafficClass;
        } else if (option == ChannelOption.ALLOW_HALF_CLOSURE) {
            value = allowHalfClosure;
        } else {
            return getTimerOption(option);
        }
        return (T) value;
    }

    @SuppressWarnings("unchecked")
    private <T> T getTimerOption(ChannelOption<T> option) {
        Object value;
        if (option == RdmaRawChannelOption.TCP_KEEPIDLE) {
            value = keepIdleSeconds;
        } else if (option == RdmaRawChannelOption.TCP_KEEPINTVL) {
            value = keepIntervalSeconds;
        } else if (option == RdmaRawChannelOption.TCP_KEEPCNT) {
            value = keepProbes;
        } else if (option == RdmaRawChannelOption.TCP_USER_TIMEOUT) {
            value = userTimeoutMillis;
        } else {
            return super.getOption(option);
        }
        return (T) value;
    }

    @Override
    public <T> boolean setOption(ChannelOption<T> option, T value) {
        validate(option, value);
        if (option == ChannelOption.SO_RCVBUF) {
            setReceiveBufferSize((Integer) value);
        } else if (option == ChannelOption.SO_SNDBUF) {
            setSendBufferSize((Integer) value);
        } else if (option == ChannelOption.TCP_NODELAY) {
            setTcpNoDelay((Boolean) value);
        } else if (option == ChannelOption.SO_KEEPALIVE) {
            setKeepAlive((Boolean) value);
        } else if (option == ChannelOption.SO_REUSEADDR) {
            setReuseAddress((Boolean) value);
        } else if (option == ChannelOption.SO_LINGER) {
            setSoLinger((Integer) value);
        } else if (option == ChannelOption.IP_TOS) {
            setTrafficClass((Integer) value);
        } else if (option == ChannelOption.ALLOW_HALF_CLOSURE) {
            setAllowHalfClosure((Boolean) value);
        } else {
            return setTimerOption(option, value);
        }
        return true;
    }

    private <T> boolean setTimerOption(ChannelOption<T> option, T value) {
        if (option == RdmaRawChannelOption.TCP_KEEPIDLE) {
            keepIdleSeconds = ObjectUtil.checkPositive((Integer) value, "TCP_KEEPIDLE");
        } else if (option == RdmaRawChannelOption.TCP_KEEPINTVL) {
            keepIntervalSeconds = ObjectUtil.checkPositive((Integer) value, "TCP_KEEPINTVL");
        } else if (option == RdmaRawChannelOption.TCP_KEEPCNT) {
            keepProbes = ObjectUtil.checkInRange((Integer) value, 1, Byte.MAX_VALUE, "TCP_KEEPCNT");
        } else if (option == RdmaRawChannelOption.TCP_USER_TIMEOUT) {
            userTimeoutMillis = ObjectUtil.checkPositiveOrZero((Integer) value, "TCP_USER_TIMEOUT");
        } else {
            return super.setOption(option, value);
        }
        channel.withConnection(this::applyTo);
        return true;
    }

    /** Returns how many bytes the channel hands to TCP ahead of their acknowledgement. */
    @Override
    public int getSendBufferSize() {
        return sendBufferBytes;
    }

    /**
     * Sets how many bytes the channel hands to TCP ahead of their acknowledgement: {@code SO_SNDBUF}. What was written
     * beyond it counts against the write buffer water marks.
     */
    @Override
    public RdmaRawSocketChannelConfig setSendBufferSize(int bytes) {
        sendBufferBytes = ObjectUtil.checkPositive(bytes, "sendBufferSize");
        return this;
    }

    /** Returns how many bytes the peer may send ahead of the reader. */
    @Override
    public int getReceiveBufferSize() {
        return receiveBufferBytes;
    }

    /**
     * Sets how many bytes the peer may send ahead of the reader: {@code SO_RCVBUF}, at least 2048. Above 64 KiB it has
     * its full effect only when set before connecting, for a server's children on the server.
     */
    @Override
    public RdmaRawSocketChannelConfig setReceiveBufferSize(int bytes) {
        receiveBufferBytes = Math.max(LEAST_RECEIVE_BUFFER_BYTES, ObjectUtil.checkPositive(bytes, "receiveBufferSize"));
        channel.withConnection(connection -> connection.receiveBuffer(receiveBufferBytes));
        return this;
    }

    @Override
    public boolean isTcpNoDelay() {
        return tcpNoDelay;
    }

    /** Sets whether small segments go out at once, which is the default, or wait for outstanding ones (Nagle). */
    @Override
    public RdmaRawSocketChannelConfig setTcpNoDelay(boolean noDelay) {
        tcpNoDelay = noDelay;
        channel.withConnection(connection -> connection.noDelay(noDelay));
        return this;
    }

    @Override
    public boolean isKeepAlive() {
        return keepAlive;
    }

    @Override
    public RdmaRawSocketChannelConfig setKeepAlive(boolean on) {
        keepAlive = on;
        channel.withConnection(connection -> connection.keepAlive(on));
        return this;
    }

    @Override
    public int getTrafficClass() {
        return trafficClass;
    }

    /** Sets the type of service or traffic class, 0 to 255; its two ECN bits are TCP's own. */
    @Override
    public RdmaRawSocketChannelConfig setTrafficClass(int value) {
        trafficClass = ObjectUtil.checkInRange(value, 0, MAX_BYTE, "trafficClass");
        channel.withConnection(connection -> connection.dscp(value >>> DSCP_SHIFT));
        return this;
    }

    @Override
    public int getSoLinger() {
        return soLinger;
    }

    /**
     * Sets what closing does about bytes that the peer has not acknowledged: 0 drops what is not sent and resets the
     * connection; any other value, and the default of -1, sends them in the background. Closing never waits.
     */
    @Override
    public RdmaRawSocketChannelConfig setSoLinger(int seconds) {
        soLinger = seconds;
        return this;
    }

    @Override
    public boolean isReuseAddress() {
        return reuseAddress;
    }

    @Override
    public RdmaRawSocketChannelConfig setReuseAddress(boolean reuse) {
        reuseAddress = reuse;
        return this;
    }

    @Override
    public RdmaRawSocketChannelConfig setPerformancePreferences(int connectionTime, int latency, int bandwidth) {
        return this;
    }

    @Override
    public boolean isAllowHalfClosure() {
        return allowHalfClosure;
    }

    @Override
    public RdmaRawSocketChannelConfig setAllowHalfClosure(boolean allow) {
        allowHalfClosure = allow;
        return this;
    }

    @Override
    protected void autoReadCleared() {
        channel.stopReading();
    }

    @Override
    public RdmaRawSocketChannelConfig setConnectTimeoutMillis(int millis) {
        super.setConnectTimeoutMillis(millis);
        return this;
    }

    @Override
    @Deprecated
    public RdmaRawSocketChannelConfig setMaxMessagesPerRead(int messages) {
        super.setMaxMessagesPerRead(messages);
        return this;
    }

    @Override
    public RdmaRawSocketChannelConfig setWriteSpinCount(int count) {
        super.setWriteSpinCount(count);
        return this;
    }

    @Override
    public RdmaRawSocketChannelConfig setAllocator(ByteBufAllocator allocator) {
        super.setAllocator(allocator);
        return this;
    }

    @Override
    public RdmaRawSocketChannelConfig setRecvByteBufAllocator(RecvByteBufAllocator allocator) {
        super.setRecvByteBufAllocator(allocator);
        return this;
    }

    @Override
    public RdmaRawSocketChannelConfig setAutoRead(boolean autoRead) {
        super.setAutoRead(autoRead);
        return this;
    }

    @Override
    public RdmaRawSocketChannelConfig setAutoClose(boolean autoClose) {
        super.setAutoClose(autoClose);
        return this;
    }

    @Override
    public RdmaRawSocketChannelConfig setMessageSizeEstimator(MessageSizeEstimator estimator) {
        super.setMessageSizeEstimator(estimator);
        return this;
    }

    @Override
    public RdmaRawSocketChannelConfig setWriteBufferWaterMark(WriteBufferWaterMark waterMark) {
        super.setWriteBufferWaterMark(waterMark);
        return this;
    }
}
