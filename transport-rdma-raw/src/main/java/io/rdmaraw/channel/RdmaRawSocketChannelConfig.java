package io.rdmaraw.channel;

import io.netty.channel.ChannelOption;
import io.netty.channel.socket.SocketChannelConfig;
import io.netty.util.internal.ObjectUtil;
import io.rdmaraw.channel.settings.OptionTable;
import io.rdmaraw.net.socket.NumberedOptions;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.congestion.CongestionControls;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.stack.TcpTransport;

import java.net.StandardSocketOptions;

/**
 * The configuration of a {@link RdmaRawSocketChannel}. Options can be set on any thread at any time, unless stated
 * otherwise.
 */
public final class RdmaRawSocketChannelConfig extends AbstractRdmaRawChannelConfig<RdmaRawSocketChannelConfig>
        implements SocketChannelConfig {
    /** Initial size of the send buffer if SO_SNDBUF is not set, in bytes. */
    private static final int DEFAULT_SEND_BUFFER_BYTES = 512 * 1024;
    /** Auto-tuning limit of the send buffer, in bytes (Linux: tcp_wmem[2]). */
    private static final int MAX_SEND_BUFFER_BYTES = 4 * 1024 * 1024;
    static final int MIN_RECEIVE_BUFFER_BYTES = 2048;
    private static final int MAX_BYTE = 255;
    private static final int DSCP_SHIFT = 2;
    private static final int MIN_MAXSEG_BYTES = 88;
    private static final int MAX_MAXSEG_BYTES = 32_767;
    private static final OptionTable<RdmaRawSocketChannelConfig> TABLE = newTable();

    private final RdmaRawSocketChannel channel;
    /** Zero if not set, like the receive buffer below. */
    private volatile int sendBufferBytes;
    private volatile int receiveBufferBytes;
    private volatile int soLinger = -1;
    private volatile int trafficClass;
    private volatile int mark;
    private volatile int timeToLive = Segment.DEFAULT_HOP_LIMIT;
    /** Zero applies the default of the group; likewise for the four fields below. */
    private volatile int keepIdleSeconds;
    private volatile int keepIntervalSeconds;
    private volatile int keepProbes;
    private volatile int userTimeoutMillis;
    private volatile int synRetries;
    /** Null applies the default of the group. */
    private volatile String congestionControl;
    private volatile long maxPacingRate;
    private volatile long notSentLowWaterBytes;
    private volatile int maxSegmentBytes;
    private volatile int finWait2Seconds;
    /**
     * Null applies the default of TCP: immediate acknowledgements at the start and after a pause, delayed ones
     * otherwise.
     */
    private volatile Boolean quickAck;
    private volatile boolean cork;
    private volatile boolean tcpNoDelay = true;
    private volatile boolean keepAlive;
    private volatile boolean reuseAddress;
    private volatile boolean allowHalfClosure;
    private volatile boolean tcpFastOpenConnect;
    private volatile boolean consolidatesFlushes;

    RdmaRawSocketChannelConfig(RdmaRawSocketChannel channel) {
        super(channel);
        this.channel = channel;
    }

    /** Applies the options to a new connection. Called on its loop. */
    void applyTo(TcpConnection connection) {
        connection.noDelay(tcpNoDelay);
        if (receiveBufferBytes > 0) {
            connection.receiveBufferBytes(receiveBufferBytes);
        }
        connection.dscp(trafficClass >>> DSCP_SHIFT);
        connection.hopLimit(timeToLive);
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
        if (synRetries > 0) {
            connection.synRetries(synRetries);
        }
        if (congestionControl != null) {
            connection.congestionControl(congestionControl);
        }
        if (maxPacingRate > 0) {
            connection.maxPacingRate(maxPacingRate);
        }
        if (maxSegmentBytes > 0) {
            connection.maxSegmentBytes(maxSegmentBytes);
        }
        if (quickAck != null) {
            connection.quickAck(quickAck);
        }
        connection.notSentLowWaterBytes(notSentLowWater());
        connection.finWait2Millis(finWait2Millis());
        connection.cork(cork);
    }

    private int finWait2Millis() {
        return finWait2Seconds < 0 ? -1 : millis(finWait2Seconds);
    }

    /**
     * Applies the options to a {@link io.rdmaraw.kernel.KernelStreamSocket}. The kernel sizes buffers that are not set.
     */
    void applyTo(SocketChannelConfig socket) {
        socket.setTcpNoDelay(tcpNoDelay).setKeepAlive(keepAlive).setTrafficClass(trafficClass)
                .setReuseAddress(reuseAddress);
        if (sendBufferBytes > 0) {
            socket.setSendBufferSize(sendBufferBytes);
        }
        if (receiveBufferBytes > 0) {
            socket.setReceiveBufferSize(receiveBufferBytes);
        }
        if (keepIdleSeconds > 0) {
            socket.setOption(RdmaRawChannelOption.TCP_KEEPIDLE, keepIdleSeconds);
        }
        if (keepIntervalSeconds > 0) {
            socket.setOption(RdmaRawChannelOption.TCP_KEEPINTVL, keepIntervalSeconds);
        }
        if (keepProbes > 0) {
            socket.setOption(RdmaRawChannelOption.TCP_KEEPCNT, keepProbes);
        }
    }

    private static int millis(int seconds) {
        return (int) Math.min(Integer.MAX_VALUE, seconds * 1000L);
    }

    /** Returns whether connections of this transport support an option, under any of its names. */
    static boolean hasOption(ChannelOption<?> option) {
        return TABLE.has(option);
    }

    private static OptionTable<RdmaRawSocketChannelConfig> newTable() {
        return new OptionTable<RdmaRawSocketChannelConfig>()
                .with(ChannelOption.SO_RCVBUF, RdmaRawSocketChannelConfig::getReceiveBufferSize,
                        RdmaRawSocketChannelConfig::setReceiveBufferSize)
                .with(ChannelOption.SO_SNDBUF, RdmaRawSocketChannelConfig::getSendBufferSize,
                        RdmaRawSocketChannelConfig::setSendBufferSize)
                .with(ChannelOption.TCP_NODELAY, c -> c.tcpNoDelay, RdmaRawSocketChannelConfig::setTcpNoDelay)
                .with(ChannelOption.SO_KEEPALIVE, c -> c.keepAlive, RdmaRawSocketChannelConfig::setKeepAlive)
                .with(ChannelOption.SO_REUSEADDR, c -> c.reuseAddress, RdmaRawSocketChannelConfig::setReuseAddress)
                .with(ChannelOption.SO_LINGER, c -> c.soLinger, RdmaRawSocketChannelConfig::setSoLinger)
                .with(ChannelOption.IP_TOS, c -> c.trafficClass, RdmaRawSocketChannelConfig::setTrafficClass)
                .with(RdmaRawChannelOption.IP_TTL, c -> c.timeToLive, RdmaRawSocketChannelConfig::setTimeToLive)
                .with(RdmaRawChannelOption.SO_MARK, c -> c.mark, RdmaRawSocketChannelConfig::setMark)
                .with(RdmaRawChannelOption.IP_TRANSPARENT, c -> c.isKernelFlag(NumberedOptions.IP_TRANSPARENT),
                        (c, on) -> c.setKernelFlag(NumberedOptions.IP_TRANSPARENT, on))
                .with(RdmaRawChannelOption.IP_BIND_ADDRESS_NO_PORT, RdmaRawSocketChannelConfig::bindsWithoutPort,
                        (c, on) -> c.setKernelFlag(NumberedOptions.IP_BIND_ADDRESS_NO_PORT, on))
                .with(ChannelOption.ALLOW_HALF_CLOSURE, c -> c.allowHalfClosure,
                        RdmaRawSocketChannelConfig::setAllowHalfClosure)
                .with(ChannelOption.TCP_FASTOPEN_CONNECT, c -> c.tcpFastOpenConnect,
                        RdmaRawSocketChannelConfig::setTcpFastOpenConnect)
                .with(RdmaRawChannelOption.FLUSH_CONSOLIDATION, c -> c.consolidatesFlushes,
                        (c, on) -> c.consolidatesFlushes = on)
                .with(RdmaRawChannelOption.TCP_KEEPIDLE, c -> c.keepIdleSeconds,
                        RdmaRawSocketChannelConfig::setKeepIdle)
                .with(RdmaRawChannelOption.TCP_KEEPINTVL, c -> c.keepIntervalSeconds,
                        RdmaRawSocketChannelConfig::setKeepInterval)
                .with(RdmaRawChannelOption.TCP_KEEPCNT, c -> c.keepProbes, RdmaRawSocketChannelConfig::setKeepProbes)
                .with(RdmaRawChannelOption.TCP_USER_TIMEOUT, c -> c.userTimeoutMillis,
                        RdmaRawSocketChannelConfig::setUserTimeout)
                .with(RdmaRawChannelOption.TCP_SYNCNT, c -> c.synRetries, RdmaRawSocketChannelConfig::setSynRetries)
                .with(RdmaRawChannelOption.TCP_CONGESTION, RdmaRawSocketChannelConfig::getCongestionControl,
                        RdmaRawSocketChannelConfig::setCongestionControl)
                .with(RdmaRawChannelOption.SO_MAX_PACING_RATE, c -> c.maxPacingRate,
                        RdmaRawSocketChannelConfig::setMaxPacingRate)
                .with(RdmaRawChannelOption.TCP_NOTSENT_LOWAT, c -> c.notSentLowWaterBytes,
                        RdmaRawSocketChannelConfig::setNotSentLowWater)
                .with(RdmaRawChannelOption.TCP_CORK, c -> c.cork, RdmaRawSocketChannelConfig::setCork)
                .with(RdmaRawChannelOption.TCP_QUICKACK, c -> Boolean.TRUE.equals(c.quickAck),
                        RdmaRawSocketChannelConfig::setQuickAck)
                .with(RdmaRawChannelOption.TCP_MAXSEG, c -> c.maxSegmentBytes,
                        RdmaRawSocketChannelConfig::setMaxSegment)
                .with(RdmaRawChannelOption.TCP_LINGER2, c -> c.finWait2Seconds,
                        RdmaRawSocketChannelConfig::setLinger2)
                .alias(RdmaRawChannelOption.ofIoUring("TCP_NOTSENT_LOWAT"), RdmaRawChannelOption.TCP_NOTSENT_LOWAT)
                .alias(RdmaRawChannelOption.ofIoUring("TCP_CORK"), RdmaRawChannelOption.TCP_CORK)
                .alias(RdmaRawChannelOption.ofIoUring("TCP_QUICKACK"), RdmaRawChannelOption.TCP_QUICKACK)
                .alias(RdmaRawChannelOption.ofIoUring("TCP_KEEPIDLE"), RdmaRawChannelOption.TCP_KEEPIDLE)
                .alias(RdmaRawChannelOption.ofIoUring("TCP_KEEPINTVL"), RdmaRawChannelOption.TCP_KEEPINTVL)
                .alias(RdmaRawChannelOption.ofIoUring("TCP_KEEPCNT"), RdmaRawChannelOption.TCP_KEEPCNT)
                .alias(RdmaRawChannelOption.ofIoUring("TCP_USER_TIMEOUT"), RdmaRawChannelOption.TCP_USER_TIMEOUT)
                .alias("TCP_KEEPIDLE", RdmaRawChannelOption.TCP_KEEPIDLE)
                .alias("TCP_KEEPINTERVAL", RdmaRawChannelOption.TCP_KEEPINTVL)
                .alias("TCP_KEEPCOUNT", RdmaRawChannelOption.TCP_KEEPCNT)
                .alias(StandardSocketOptions.SO_RCVBUF, ChannelOption.SO_RCVBUF)
                .alias(StandardSocketOptions.SO_SNDBUF, ChannelOption.SO_SNDBUF)
                .alias(StandardSocketOptions.SO_KEEPALIVE, ChannelOption.SO_KEEPALIVE)
                .alias(StandardSocketOptions.SO_REUSEADDR, ChannelOption.SO_REUSEADDR)
                .alias(StandardSocketOptions.SO_LINGER, ChannelOption.SO_LINGER)
                .alias(StandardSocketOptions.TCP_NODELAY, ChannelOption.TCP_NODELAY)
                .alias(StandardSocketOptions.IP_TOS, ChannelOption.IP_TOS)
                .numberedFlag(OptionTable.SOL_SOCKET, 2, ChannelOption.SO_REUSEADDR)
                .numberedFlag(OptionTable.SOL_SOCKET, 9, ChannelOption.SO_KEEPALIVE)
                .numbered(OptionTable.SOL_SOCKET, 36, RdmaRawChannelOption.SO_MARK)
                .numberedLong(OptionTable.SOL_SOCKET, 47, RdmaRawChannelOption.SO_MAX_PACING_RATE)
                .numbered(OptionTable.IPPROTO_IP, 1, ChannelOption.IP_TOS)
                .numbered(OptionTable.IPPROTO_IP, 2, RdmaRawChannelOption.IP_TTL)
                .numberedFlag(OptionTable.IPPROTO_IP, 19, RdmaRawChannelOption.IP_TRANSPARENT)
                .numberedFlag(OptionTable.IPPROTO_IP, 24, RdmaRawChannelOption.IP_BIND_ADDRESS_NO_PORT)
                .numberedFlag(OptionTable.IPPROTO_TCP, 1, ChannelOption.TCP_NODELAY)
                .numbered(OptionTable.IPPROTO_TCP, 2, RdmaRawChannelOption.TCP_MAXSEG)
                .numberedFlag(OptionTable.IPPROTO_TCP, 3, RdmaRawChannelOption.TCP_CORK)
                .numbered(OptionTable.IPPROTO_TCP, 4, RdmaRawChannelOption.TCP_KEEPIDLE)
                .numbered(OptionTable.IPPROTO_TCP, 5, RdmaRawChannelOption.TCP_KEEPINTVL)
                .numbered(OptionTable.IPPROTO_TCP, 6, RdmaRawChannelOption.TCP_KEEPCNT)
                .numbered(OptionTable.IPPROTO_TCP, 7, RdmaRawChannelOption.TCP_SYNCNT)
                .numbered(OptionTable.IPPROTO_TCP, 8, RdmaRawChannelOption.TCP_LINGER2)
                .numberedFlag(OptionTable.IPPROTO_TCP, 12, RdmaRawChannelOption.TCP_QUICKACK)
                .numbered(OptionTable.IPPROTO_TCP, 18, RdmaRawChannelOption.TCP_USER_TIMEOUT)
                .numberedLong(OptionTable.IPPROTO_TCP, 25, RdmaRawChannelOption.TCP_NOTSENT_LOWAT)
                .numberedFlag(OptionTable.IPPROTO_TCP, 30, ChannelOption.TCP_FASTOPEN_CONNECT)
                .withUnsupported("SO_INCOMING_NAPI_ID", RdmaRawChannelOption.NO_NAPI_ID);
    }

    /** Returns whether the port of a client that binds port 0 is selected when the channel connects. */
    boolean bindsWithoutPort() {
        return isKernelFlag(NumberedOptions.IP_BIND_ADDRESS_NO_PORT);
    }

    @Override
    boolean mayHaveKernelSocket() {
        return true;
    }

    @Override
    OptionTable<RdmaRawSocketChannelConfig> table() {
        return TABLE;
    }

    int mark() {
        return mark;
    }

    boolean consolidatesFlushes() {
        return consolidatesFlushes;
    }

    // The setters below pass on the current value of the field, not the argument. While the connection moves between
    // loops, an older call may be applied after a newer one.

    private void setTimeToLive(int hops) {
        timeToLive = ObjectUtil.checkInRange(hops, 1, MAX_BYTE, "IP_TTL");
        channel.applyChange(connection -> connection.hopLimit(timeToLive));
    }

    /** Sets the mark of an accepted connection. The connection already uses it. */
    void inheritMark(int value) {
        mark = value;
    }

    private void setMark(int value) {
        mark = value;
        channel.applyChange(connection -> ((TcpTransport) connection.attachment()).soMark(mark));
    }

    private void setKeepIdle(int seconds) {
        keepIdleSeconds = ObjectUtil.checkPositive(seconds, "TCP_KEEPIDLE");
        channel.applyChange(connection -> connection.keepAliveIdleMillis(millis(keepIdleSeconds)));
    }

    private void setKeepInterval(int seconds) {
        keepIntervalSeconds = ObjectUtil.checkPositive(seconds, "TCP_KEEPINTVL");
        channel.applyChange(connection -> connection.keepAliveIntervalMillis(millis(keepIntervalSeconds)));
    }

    private void setKeepProbes(int probes) {
        keepProbes = ObjectUtil.checkInRange(probes, 1, Byte.MAX_VALUE, "TCP_KEEPCNT");
        channel.applyChange(connection -> connection.keepAliveProbes(keepProbes));
    }

    private void setUserTimeout(int millis) {
        userTimeoutMillis = ObjectUtil.checkPositiveOrZero(millis, "TCP_USER_TIMEOUT");
        channel.applyChange(connection -> connection.userTimeoutMillis(userTimeoutMillis));
    }

    private void setSynRetries(int retries) {
        synRetries = ObjectUtil.checkInRange(retries, 1, Byte.MAX_VALUE, "TCP_SYNCNT");
        channel.applyChange(connection -> connection.synRetries(synRetries));
    }

    /** Accepts the 32-bit range of Linux. */
    private void setNotSentLowWater(long bytes) {
        if (bytes < 0 || bytes > 0xFFFF_FFFFL) {
            throw new IllegalArgumentException("TCP_NOTSENT_LOWAT: " + bytes + " (expected: 0-4294967295)");
        }
        notSentLowWaterBytes = bytes;
        channel.applyChange(connection -> connection.notSentLowWaterBytes(notSentLowWater()));
    }

    /** More than {@link Integer#MAX_VALUE} bytes are never queued. */
    private int notSentLowWater() {
        return (int) Math.min(Integer.MAX_VALUE, notSentLowWaterBytes);
    }

    /**
     * Sets TCP_CORK. Each call must reach the connection, because switching it off sends the data that was held back.
     * Only while the connection moves, the current value is applied instead.
     */
    private void setCork(boolean on) {
        cork = on;
        channel.applyChange(connection -> connection.cork(on), connection -> connection.cork(cork));
    }

    private void setQuickAck(boolean on) {
        quickAck = on;
        channel.applyChange(connection -> connection.quickAck(on), connection -> connection.quickAck(quickAck));
    }

    private void setMaxSegment(int bytes) {
        maxSegmentBytes = checkMaxSegment(bytes);
        if (bytes > 0) {
            channel.applyChange(connection -> connection.maxSegmentBytes(bytes));
        }
    }

    static int checkMaxSegment(int bytes) {
        return bytes == 0 ? 0 : ObjectUtil.checkInRange(bytes, MIN_MAXSEG_BYTES, MAX_MAXSEG_BYTES, "TCP_MAXSEG");
    }

    private void setLinger2(int seconds) {
        finWait2Seconds = seconds;
        channel.applyChange(connection -> connection.finWait2Millis(finWait2Millis()));
    }

    private String getCongestionControl() {
        String chosen = congestionControl;
        return chosen != null ? chosen : channel.groupConfig().congestionControl();
    }

    private void setCongestionControl(String name) {
        CongestionControls.named(name);
        congestionControl = name;
        channel.applyChange(connection -> connection.congestionControl(congestionControl));
    }

    private void setMaxPacingRate(long bytesPerSecond) {
        maxPacingRate = ObjectUtil.checkPositiveOrZero(bytesPerSecond, "SO_MAX_PACING_RATE");
        channel.applyChange(connection -> connection.maxPacingRate(maxPacingRate));
    }

    /**
     * Returns the maximum number of written bytes that TCP holds until they are acknowledged. If it was not set,
     * returns the initial size of the send buffer.
     */
    @Override
    public int getSendBufferSize() {
        return sendBufferBytes > 0 ? sendBufferBytes : DEFAULT_SEND_BUFFER_BYTES;
    }

    /**
     * Returns the current size of a connection's send buffer. If it was not set, it is twice the number of bytes in
     * flight that fill the path without a queue. The next window is then ready when a window is acknowledged at once.
     */
    int sendBufferBytes(TcpConnection connection) {
        return sendBufferBytes > 0 ? sendBufferBytes : sendBufferFor(connection.bandwidthDelayBytes());
    }

    static int sendBufferFor(int pathBytes) {
        return Math.clamp(2L * pathBytes, DEFAULT_SEND_BUFFER_BYTES, MAX_SEND_BUFFER_BYTES);
    }

    /**
     * Sets {@code SO_SNDBUF}: the maximum number of written bytes that TCP holds until they are acknowledged, at least
     * 4608 as on Linux. Further writes count against the channel's write buffer water marks. If it is not set, the
     * buffer grows to twice the capacity of the path, up to 4 MiB.
     */
    @Override
    public RdmaRawSocketChannelConfig setSendBufferSize(int bytes) {
        sendBufferBytes = Math.max(MIN_SEND_BUFFER_BYTES, ObjectUtil.checkPositive(bytes, "sendBufferSize"));
        return this;
    }

    /**
     * Returns the maximum number of bytes that the peer may send ahead of the reader. If it was not set, returns the
     * initial size of the buffer.
     */
    @Override
    public int getReceiveBufferSize() {
        return receiveBufferBytes > 0 ? receiveBufferBytes : channel.groupConfig().initialReceiveBufferBytes();
    }

    /**
     * Sets {@code SO_RCVBUF}: the maximum number of bytes that the peer may send ahead of the reader. Values below 2048
     * are treated as 2048.
     *
     * <p>Values above 64 KiB must be set before connecting to be fully effective; for accepted connections, on the
     * server channel. If it is not set, the buffer grows with the bytes that the user reads per round trip, up to
     * {@link RdmaRawIoHandlerConfig#maxReceiveBufferBytes()}.
     */
    @Override
    public RdmaRawSocketChannelConfig setReceiveBufferSize(int bytes) {
        receiveBufferBytes = Math.max(MIN_RECEIVE_BUFFER_BYTES, ObjectUtil.checkPositive(bytes, "receiveBufferSize"));
        channel.applyChange(connection -> connection.receiveBufferBytes(receiveBufferBytes));
        return this;
    }

    @Override
    public boolean isTcpNoDelay() {
        return tcpNoDelay;
    }

    /**
     * Sets whether small segments are sent at once (true, the default) or wait until outstanding data is acknowledged
     * (Nagle algorithm).
     */
    @Override
    public RdmaRawSocketChannelConfig setTcpNoDelay(boolean noDelay) {
        tcpNoDelay = noDelay;
        channel.applyChange(connection -> connection.noDelay(noDelay),
                connection -> connection.noDelay(tcpNoDelay));
        return this;
    }

    @Override
    public boolean isKeepAlive() {
        return keepAlive;
    }

    @Override
    public RdmaRawSocketChannelConfig setKeepAlive(boolean on) {
        keepAlive = on;
        channel.applyChange(connection -> connection.keepAlive(keepAlive));
        return this;
    }

    @Override
    public int getTrafficClass() {
        return trafficClass;
    }

    /** Sets the type of service or traffic class: 0 to 255. TCP ignores the two ECN bits and sets them itself. */
    @Override
    public RdmaRawSocketChannelConfig setTrafficClass(int value) {
        trafficClass = ObjectUtil.checkInRange(value, 0, MAX_BYTE, "trafficClass");
        channel.applyChange(connection -> connection.dscp(trafficClass >>> DSCP_SHIFT));
        return this;
    }

    @Override
    public int getSoLinger() {
        return soLinger;
    }

    /**
     * Sets the handling of unacknowledged data when the channel is closed. 0 drops unsent data and resets the
     * connection. Any other value, including the default -1, delivers the data in the background, until a timeout or a
     * limit of {@link RdmaRawTcpLimits} ends the connection. If the value is positive, the close promise completes when
     * the peer has acknowledged all data or when that time is over; connections that the kernel carries ignore it.
     * Closing never blocks a thread. An event loop that ends waits for the delivery for a limited time.
     */
    @Override
    public RdmaRawSocketChannelConfig setSoLinger(int seconds) {
        soLinger = Math.max(-1, seconds);
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

    /** Returns whether data written before connecting may be sent with the SYN. */
    public boolean isTcpFastOpenConnect() {
        return tcpFastOpenConnect;
    }

    /**
     * Sets {@code TCP_FASTOPEN_CONNECT} (RFC 7413): data that is written, but not flushed, before connecting is sent
     * with the SYN.
     *
     * <p>The first connection to a server requests a cookie and sends the data when it is open. Later connections on
     * the same event loop send the data with the SYN. The network may deliver such data twice. The connect promise
     * completes when the server has answered.
     */
    public RdmaRawSocketChannelConfig setTcpFastOpenConnect(boolean fastOpen) {
        tcpFastOpenConnect = fastOpen;
        return this;
    }
}
