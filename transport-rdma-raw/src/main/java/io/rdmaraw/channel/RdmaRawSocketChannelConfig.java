package io.rdmaraw.channel;

import io.netty.channel.ChannelOption;
import io.netty.channel.socket.SocketChannelConfig;
import io.netty.channel.socket.nio.NioChannelOption;
import io.netty.util.internal.ObjectUtil;
import io.rdmaraw.tcp.TcpConnection;
import io.rdmaraw.tcp.congestion.CongestionControls;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.stack.TcpTransport;
import jdk.net.ExtendedSocketOptions;

import java.net.SocketOption;
import java.net.StandardSocketOptions;

/** The settings of a {@link RdmaRawSocketChannel}. Can be set on any thread. */
public final class RdmaRawSocketChannelConfig extends AbstractRdmaRawChannelConfig<RdmaRawSocketChannelConfig>
        implements SocketChannelConfig {
    /** Initial size of the send buffer if SO_SNDBUF is not set, in bytes. */
    private static final int DEFAULT_SEND_BUFFER_BYTES = 512 * 1024;
    /** Auto-tuning limit of the send buffer, in bytes (Linux: tcp_wmem[2]). */
    private static final int MOST_SEND_BUFFER_BYTES = 4 * 1024 * 1024;
    private static final int LEAST_RECEIVE_BUFFER_BYTES = 2048;
    private static final int MAX_BYTE = 255;
    private static final int DSCP_SHIFT = 2;
    private static final int LEAST_MAXSEG_BYTES = 88;
    private static final int MOST_MAXSEG_BYTES = 32_767;
    private static final OptionTable<RdmaRawSocketChannelConfig> TABLE = newTable();

    private final RdmaRawSocketChannel channel;
    /** Both are 0 while they are not set. */
    private volatile int sendBufferBytes;
    private volatile int receiveBufferBytes;
    private volatile int soLinger = -1;
    private volatile int trafficClass;
    private volatile int mark;
    private volatile int timeToLive = Segment.DEFAULT_HOP_LIMIT;
    /** Those of keepalive, user timeout and SYNs are 0 while the core's defaults hold. */
    private volatile int keepIdleSeconds;
    private volatile int keepIntervalSeconds;
    private volatile int keepProbes;
    private volatile int userTimeoutMillis;
    private volatile int synRetries;
    /** Null while the group's holds. */
    private volatile String congestionControl;
    private volatile long maxPacingRate;
    private volatile int notSentLowWaterBytes;
    private volatile int maxSegmentBytes;
    private volatile int finWait2Seconds;
    /** Null while the core decides. */
    private volatile Boolean quickAck;
    private volatile boolean cork;
    private volatile boolean tcpNoDelay = true;
    private volatile boolean keepAlive;
    private volatile boolean reuseAddress;
    private volatile boolean allowHalfClosure;
    private volatile boolean tcpFastOpenConnect;
    private volatile boolean sharedFlushes;

    RdmaRawSocketChannelConfig(RdmaRawSocketChannel channel) {
        super(channel);
        this.channel = channel;
    }

    /** Hands the settings to a connection that has just been made, on its loop. */
    void applyTo(TcpConnection connection) {
        connection.noDelay(tcpNoDelay);
        if (receiveBufferBytes > 0) {
            connection.receiveBuffer(receiveBufferBytes);
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
            connection.maxSegment(maxSegmentBytes);
        }
        if (quickAck != null) {
            connection.quickAck(quickAck);
        }
        connection.notSentLowWater(notSentLowWaterBytes);
        connection.finWait2Millis(finWait2Millis());
        connection.cork(cork);
    }

    private int finWait2Millis() {
        return finWait2Seconds < 0 ? -1 : millis(finWait2Seconds);
    }

    /** Hands the settings to a socket of the kernel's; the kernel sizes buffers that are not set. */
    void applyTo(SocketChannelConfig socket) {
        socket.setTcpNoDelay(tcpNoDelay).setKeepAlive(keepAlive).setTrafficClass(trafficClass)
                .setReuseAddress(reuseAddress);
        if (sendBufferBytes > 0) {
            socket.setSendBufferSize(sendBufferBytes);
        }
        if (receiveBufferBytes > 0) {
            socket.setReceiveBufferSize(receiveBufferBytes);
        }
        setIfPositive(socket, ExtendedSocketOptions.TCP_KEEPIDLE, keepIdleSeconds);
        setIfPositive(socket, ExtendedSocketOptions.TCP_KEEPINTERVAL, keepIntervalSeconds);
        setIfPositive(socket, ExtendedSocketOptions.TCP_KEEPCOUNT, keepProbes);
    }

    private static void setIfPositive(SocketChannelConfig socket, SocketOption<Integer> option, int value) {
        if (value > 0) {
            socket.setOption(NioChannelOption.of(option), value);
        }
    }

    private static int millis(int seconds) {
        return (int) Math.min(Integer.MAX_VALUE, seconds * 1000L);
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
                .with(ChannelOption.ALLOW_HALF_CLOSURE, c -> c.allowHalfClosure,
                        RdmaRawSocketChannelConfig::setAllowHalfClosure)
                .with(ChannelOption.TCP_FASTOPEN_CONNECT, c -> c.tcpFastOpenConnect,
                        RdmaRawSocketChannelConfig::setTcpFastOpenConnect)
                .with(RdmaRawChannelOption.SHARED_FLUSHES, c -> c.sharedFlushes, (c, on) -> c.sharedFlushes = on)
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
                .with(RdmaRawChannelOption.TCP_NOTSENT_LOWAT, c -> (long) c.notSentLowWaterBytes,
                        RdmaRawSocketChannelConfig::setNotSentLowWater)
                .with(RdmaRawChannelOption.TCP_CORK, c -> c.cork, RdmaRawSocketChannelConfig::setCork)
                .with(RdmaRawChannelOption.TCP_QUICKACK, c -> Boolean.TRUE.equals(c.quickAck),
                        RdmaRawSocketChannelConfig::setQuickAck)
                .with(RdmaRawChannelOption.TCP_MAXSEG, c -> c.maxSegmentBytes,
                        RdmaRawSocketChannelConfig::setMaxSegment)
                .with(RdmaRawChannelOption.TCP_LINGER2, c -> c.finWait2Seconds,
                        RdmaRawSocketChannelConfig::setLinger2)
                .alsoAs(RdmaRawChannelOption.ofIoUring("TCP_NOTSENT_LOWAT"), RdmaRawChannelOption.TCP_NOTSENT_LOWAT)
                .alsoAs(RdmaRawChannelOption.ofIoUring("TCP_CORK"), RdmaRawChannelOption.TCP_CORK)
                .alsoAs(RdmaRawChannelOption.ofIoUring("TCP_QUICKACK"), RdmaRawChannelOption.TCP_QUICKACK)
                .alsoAs(RdmaRawChannelOption.ofIoUring("TCP_KEEPIDLE"), RdmaRawChannelOption.TCP_KEEPIDLE)
                .alsoAs(RdmaRawChannelOption.ofIoUring("TCP_KEEPINTVL"), RdmaRawChannelOption.TCP_KEEPINTVL)
                .alsoAs(RdmaRawChannelOption.ofIoUring("TCP_KEEPCNT"), RdmaRawChannelOption.TCP_KEEPCNT)
                .alsoAs(RdmaRawChannelOption.ofIoUring("TCP_USER_TIMEOUT"), RdmaRawChannelOption.TCP_USER_TIMEOUT)
                .alsoAs(ExtendedSocketOptions.TCP_KEEPIDLE, RdmaRawChannelOption.TCP_KEEPIDLE)
                .alsoAs(ExtendedSocketOptions.TCP_KEEPINTERVAL, RdmaRawChannelOption.TCP_KEEPINTVL)
                .alsoAs(ExtendedSocketOptions.TCP_KEEPCOUNT, RdmaRawChannelOption.TCP_KEEPCNT)
                .alsoAs(StandardSocketOptions.SO_RCVBUF, ChannelOption.SO_RCVBUF)
                .alsoAs(StandardSocketOptions.SO_SNDBUF, ChannelOption.SO_SNDBUF)
                .alsoAs(StandardSocketOptions.SO_KEEPALIVE, ChannelOption.SO_KEEPALIVE)
                .alsoAs(StandardSocketOptions.SO_REUSEADDR, ChannelOption.SO_REUSEADDR)
                .alsoAs(StandardSocketOptions.SO_LINGER, ChannelOption.SO_LINGER)
                .alsoAs(StandardSocketOptions.TCP_NODELAY, ChannelOption.TCP_NODELAY)
                .alsoAs(StandardSocketOptions.IP_TOS, ChannelOption.IP_TOS)
                .without(ExtendedSocketOptions.SO_INCOMING_NAPI_ID, RdmaRawChannelOption.NO_NAPI_ID);
    }

    @Override
    OptionTable<RdmaRawSocketChannelConfig> table() {
        return TABLE;
    }

    int mark() {
        return mark;
    }

    boolean sharesFlushes() {
        return sharedFlushes;
    }

    // What the connection is told holds when it is told: while it moves, an older call may come behind a newer one.

    private void setTimeToLive(int hops) {
        timeToLive = ObjectUtil.checkInRange(hops, 1, MAX_BYTE, "IP_TTL");
        channel.settingChanged(connection -> connection.hopLimit(timeToLive));
    }

    /** The connection has had it from its beginning. */
    void inheritMark(int value) {
        mark = value;
    }

    private void setMark(int value) {
        mark = value;
        channel.settingChanged(connection -> ((TcpTransport) connection.attachment()).mark(mark));
    }

    private void setKeepIdle(int seconds) {
        keepIdleSeconds = ObjectUtil.checkPositive(seconds, "TCP_KEEPIDLE");
        channel.settingChanged(connection -> connection.keepAliveIdleMillis(millis(keepIdleSeconds)));
    }

    private void setKeepInterval(int seconds) {
        keepIntervalSeconds = ObjectUtil.checkPositive(seconds, "TCP_KEEPINTVL");
        channel.settingChanged(connection -> connection.keepAliveIntervalMillis(millis(keepIntervalSeconds)));
    }

    private void setKeepProbes(int probes) {
        keepProbes = ObjectUtil.checkInRange(probes, 1, Byte.MAX_VALUE, "TCP_KEEPCNT");
        channel.settingChanged(connection -> connection.keepAliveProbes(keepProbes));
    }

    private void setUserTimeout(int millis) {
        userTimeoutMillis = ObjectUtil.checkPositiveOrZero(millis, "TCP_USER_TIMEOUT");
        channel.settingChanged(connection -> connection.userTimeoutMillis(userTimeoutMillis));
    }

    private void setSynRetries(int retries) {
        synRetries = ObjectUtil.checkInRange(retries, 1, Byte.MAX_VALUE, "TCP_SYNCNT");
        channel.settingChanged(connection -> connection.synRetries(synRetries));
    }

    /** As Linux, which has 32 bits for it. */
    private void setNotSentLowWater(long bytes) {
        if (bytes < 0 || bytes > 0xFFFF_FFFFL) {
            throw new IllegalArgumentException("TCP_NOTSENT_LOWAT: " + bytes + " (expected: 0-4294967295)");
        }
        notSentLowWaterBytes = (int) Math.min(Integer.MAX_VALUE, bytes);
        channel.settingChanged(connection -> connection.notSentLowWater(notSentLowWaterBytes));
    }

    /** Switching it off sends what is held back: unless it moves, the connection is to hear of each call. */
    private void setCork(boolean on) {
        cork = on;
        channel.settingChanged(connection -> connection.cork(on), connection -> connection.cork(cork));
    }

    private void setQuickAck(boolean on) {
        quickAck = on;
        channel.settingChanged(connection -> connection.quickAck(on), connection -> connection.quickAck(quickAck));
    }

    private void setMaxSegment(int bytes) {
        maxSegmentBytes = checkMaxSegment(bytes);
        if (bytes > 0) {
            channel.settingChanged(connection -> connection.maxSegment(bytes));
        }
    }

    static int checkMaxSegment(int bytes) {
        return bytes == 0 ? 0 : ObjectUtil.checkInRange(bytes, LEAST_MAXSEG_BYTES, MOST_MAXSEG_BYTES, "TCP_MAXSEG");
    }

    private void setLinger2(int seconds) {
        finWait2Seconds = seconds;
        channel.settingChanged(connection -> connection.finWait2Millis(finWait2Millis()));
    }

    private String getCongestionControl() {
        String chosen = congestionControl;
        return chosen != null ? chosen : channel.groupConfig().congestionControl();
    }

    private void setCongestionControl(String name) {
        CongestionControls.named(name);
        congestionControl = name;
        channel.settingChanged(connection -> connection.congestionControl(congestionControl));
    }

    private void setMaxPacingRate(long bytesPerSecond) {
        maxPacingRate = ObjectUtil.checkPositiveOrZero(bytesPerSecond, "SO_MAX_PACING_RATE");
        channel.settingChanged(connection -> connection.maxPacingRate(maxPacingRate));
    }

    /**
     * Returns how many bytes the channel hands to TCP ahead of their acknowledgement; unless it was set, what it begins
     * with.
     */
    @Override
    public int getSendBufferSize() {
        return sendBufferBytes > 0 ? sendBufferBytes : DEFAULT_SEND_BUFFER_BYTES;
    }

    /**
     * Returns how many bytes TCP takes ahead of their acknowledgement: what was set, else twice what the path carries
     * without a queue on the way, so that the next window is there when one is acknowledged at once.
     */
    int sendBufferBytes(TcpConnection connection) {
        return sendBufferBytes > 0 ? sendBufferBytes : sendBufferFor(connection.pathBytes());
    }

    static int sendBufferFor(int pathBytes) {
        return Math.clamp(2L * pathBytes, DEFAULT_SEND_BUFFER_BYTES, MOST_SEND_BUFFER_BYTES);
    }

    /**
     * Sets how many bytes the channel hands to TCP ahead of their acknowledgement: {@code SO_SNDBUF}. What was written
     * beyond it counts against the write buffer water marks. A buffer that was not set grows to twice what the
     * path carries, up to 4 MiB.
     */
    @Override
    public RdmaRawSocketChannelConfig setSendBufferSize(int bytes) {
        sendBufferBytes = ObjectUtil.checkPositive(bytes, "sendBufferSize");
        return this;
    }

    /** Returns how many bytes the peer may send ahead of the reader; unless it was set, what it begins with. */
    @Override
    public int getReceiveBufferSize() {
        return receiveBufferBytes > 0 ? receiveBufferBytes : channel.groupConfig().receiveBufferBytes();
    }

    /**
     * Sets how many bytes the peer may send ahead of the reader: {@code SO_RCVBUF}, at least 2048. Above 64 KiB it has
     * its full effect only when set before connecting, for a server's children on the server. A buffer that was not set
     * grows with what the user reads in a round trip, up to {@link RdmaRawIoHandlerConfig#maxReceiveBufferBytes()}.
     */
    @Override
    public RdmaRawSocketChannelConfig setReceiveBufferSize(int bytes) {
        receiveBufferBytes = Math.max(LEAST_RECEIVE_BUFFER_BYTES, ObjectUtil.checkPositive(bytes, "receiveBufferSize"));
        channel.settingChanged(connection -> connection.receiveBuffer(receiveBufferBytes));
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
        channel.settingChanged(connection -> connection.noDelay(noDelay),
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
        channel.settingChanged(connection -> connection.keepAlive(keepAlive));
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
        channel.settingChanged(connection -> connection.dscp(trafficClass >>> DSCP_SHIFT));
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

    /** Returns whether what is written before connecting may go with the SYN. */
    public boolean isTcpFastOpenConnect() {
        return tcpFastOpenConnect;
    }

    /**
     * Sets whether what is written, and not flushed, before connecting goes with the SYN: {@code TCP_FASTOPEN_CONNECT}
     * (RFC 7413). The first connection to a server asks it for a cookie and sends the data when it is open; those after
     * it on the same event loop send with the SYN. The network may bring such data twice. The promise of connecting
     * completes when the server has answered.
     */
    public RdmaRawSocketChannelConfig setTcpFastOpenConnect(boolean fastOpen) {
        tcpFastOpenConnect = fastOpen;
        return this;
    }
}
