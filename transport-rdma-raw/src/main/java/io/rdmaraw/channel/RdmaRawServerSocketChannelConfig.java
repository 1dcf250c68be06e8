package io.rdmaraw.channel;

import io.netty.channel.ChannelOption;
import io.netty.channel.ServerChannelRecvByteBufAllocator;
import io.netty.channel.socket.ServerSocketChannelConfig;
import io.netty.util.NetUtil;
import io.netty.util.internal.ObjectUtil;
import io.rdmaraw.channel.settings.OptionTable;
import io.rdmaraw.net.socket.NumberedOptions;
import io.rdmaraw.tcp.TcpListener;

import java.net.StandardSocketOptions;

/**
 * The configuration of a {@link RdmaRawServerSocketChannel}. Options can be set on any thread. Options that affect
 * binding must be set before the channel is bound.
 */
public final class RdmaRawServerSocketChannelConfig
        extends AbstractRdmaRawChannelConfig<RdmaRawServerSocketChannelConfig> implements ServerSocketChannelConfig {
    private static final OptionTable<RdmaRawServerSocketChannelConfig> TABLE =
            new OptionTable<RdmaRawServerSocketChannelConfig>()
                    .with(ChannelOption.SO_BACKLOG, c -> c.backlog, RdmaRawServerSocketChannelConfig::setBacklog)
                    .with(ChannelOption.SO_RCVBUF, RdmaRawServerSocketChannelConfig::getReceiveBufferSize,
                            RdmaRawServerSocketChannelConfig::setReceiveBufferSize)
                    .with(ChannelOption.SO_REUSEADDR, c -> c.reuseAddress,
                            RdmaRawServerSocketChannelConfig::setReuseAddress)
                    .with(RdmaRawChannelOption.SO_REUSEPORT, c -> c.reusePort,
                            RdmaRawServerSocketChannelConfig::setReusePort)
                    .with(ChannelOption.TCP_FASTOPEN, c -> c.tcpFastopen,
                            RdmaRawServerSocketChannelConfig::setTcpFastopen)
                    .with(RdmaRawChannelOption.TCP_DEFER_ACCEPT, c -> c.deferAcceptSeconds,
                            RdmaRawServerSocketChannelConfig::setDeferAccept)
                    .with(RdmaRawChannelOption.TCP_MAXSEG, c -> c.maxSegmentBytes,
                            RdmaRawServerSocketChannelConfig::setMaxSegment)
                    .alias(RdmaRawChannelOption.ofIoUring("TCP_DEFER_ACCEPT"), RdmaRawChannelOption.TCP_DEFER_ACCEPT)
                    .with(RdmaRawChannelOption.SO_MARK, c -> c.mark, RdmaRawServerSocketChannelConfig::setMark)
                    .with(RdmaRawChannelOption.IP_FREEBIND, c -> c.isKernelFlag(NumberedOptions.IP_FREEBIND),
                            (c, on) -> c.setKernelFlag(NumberedOptions.IP_FREEBIND, on))
                    .with(RdmaRawChannelOption.IP_TRANSPARENT, c -> c.isKernelFlag(NumberedOptions.IP_TRANSPARENT),
                            (c, on) -> c.setKernelFlag(NumberedOptions.IP_TRANSPARENT, on))
                    .with(RdmaRawChannelOption.ACCEPT_GROUP, c -> c.acceptGroup,
                            RdmaRawServerSocketChannelConfig::setAcceptGroup)
                    .alias(StandardSocketOptions.SO_RCVBUF, ChannelOption.SO_RCVBUF)
                    .alias(StandardSocketOptions.SO_REUSEADDR, ChannelOption.SO_REUSEADDR)
                    .alias(StandardSocketOptions.SO_REUSEPORT, RdmaRawChannelOption.SO_REUSEPORT)
                    .numberedFlag(OptionTable.SOL_SOCKET, 2, ChannelOption.SO_REUSEADDR)
                    .numberedFlag(OptionTable.SOL_SOCKET, 15, RdmaRawChannelOption.SO_REUSEPORT)
                    .numbered(OptionTable.SOL_SOCKET, 36, RdmaRawChannelOption.SO_MARK)
                    .numberedFlag(OptionTable.IPPROTO_IP, 15, RdmaRawChannelOption.IP_FREEBIND)
                    .numberedFlag(OptionTable.IPPROTO_IP, 19, RdmaRawChannelOption.IP_TRANSPARENT)
                    .numbered(OptionTable.IPPROTO_TCP, 2, RdmaRawChannelOption.TCP_MAXSEG)
                    .numbered(OptionTable.IPPROTO_TCP, 9, RdmaRawChannelOption.TCP_DEFER_ACCEPT)
                    .numbered(OptionTable.IPPROTO_TCP, 23, ChannelOption.TCP_FASTOPEN)
                    .withUnsupported("SO_INCOMING_NAPI_ID", RdmaRawChannelOption.NO_NAPI_ID);

    private final RdmaRawServerSocketChannel channel;
    private volatile int backlog = Math.max(1, NetUtil.SOMAXCONN);
    /** 0 if it was not set. */
    private volatile int receiveBufferBytes;
    private volatile boolean reuseAddress = true;
    private volatile boolean reusePort;
    private volatile RdmaRawEventLoopGroup acceptGroup;
    private volatile int tcpFastopen;
    private volatile int deferAcceptSeconds;
    private volatile int maxSegmentBytes;
    private volatile int mark;

    RdmaRawServerSocketChannelConfig(RdmaRawServerSocketChannel channel) {
        super(channel, new ServerChannelRecvByteBufAllocator());
        this.channel = channel;
    }

    /** Applies the options that accepted connections inherit. */
    void applyTo(RdmaRawSocketChannelConfig child) {
        if (receiveBufferBytes > 0) {
            child.setReceiveBufferSize(receiveBufferBytes);
        }
        child.inheritMark(mark);
    }

    /** Applies the options that concern connections before they are accepted. */
    void applyTo(TcpListener listener) {
        listener.maxFastOpens(tcpFastopen);
        listener.deferAccept(deferAcceptSeconds);
        listener.maxSegmentBytes(maxSegmentBytes);
        listener.receiveBufferBytes(receiveBufferBytes);
        listener.soMark(mark);
    }

    int mark() {
        return mark;
    }

    /** Rejects changes after binding, because the kernel socket and pending handshakes would keep the old mark. */
    private void setMark(int value) {
        if (value != mark && channel.localAddress() != null) {
            throw new IllegalStateException("SO_MARK cannot be changed on a bound channel: set it before bind");
        }
        mark = value;
    }

    private void setDeferAccept(int seconds) {
        deferAcceptSeconds = ObjectUtil.checkPositiveOrZero(seconds, "TCP_DEFER_ACCEPT");
    }

    private void setMaxSegment(int bytes) {
        maxSegmentBytes = RdmaRawSocketChannelConfig.checkMaxSegment(bytes);
    }

    @Override
    boolean mayHaveKernelSocket() {
        return true;
    }

    @Override
    OptionTable<RdmaRawServerSocketChannelConfig> table() {
        return TABLE;
    }

    @Override
    public int getBacklog() {
        return backlog;
    }

    /**
     * Sets {@code SO_BACKLOG}, the maximum number of half-open connections. The same number of accepted connections may
     * be queued until the channel reads them. SYNs beyond the first limit are answered with SYN cookies, or dropped if
     * {@link RdmaRawTcpSettings.SynCookies#NEVER} is set. While the queue of accepted connections is full, all SYNs are
     * dropped. 0 is treated as 1.
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

    /**
     * Sets {@code SO_REUSEADDR}. The value has no effect; it is stored for programs that read it back. Connections of a
     * previous server never prevent the next server on the same event loops from binding the port.
     */
    @Override
    public RdmaRawServerSocketChannelConfig setReuseAddress(boolean reuse) {
        reuseAddress = reuse;
        return this;
    }

    /** Returns whether other channels may listen on the same port and share its connections. */
    public boolean isReusePort() {
        return reusePort;
    }

    /** Sets {@link RdmaRawChannelOption#SO_REUSEPORT}. */
    public RdmaRawServerSocketChannelConfig setReusePort(boolean reuse) {
        reusePort = reuse;
        return this;
    }

    /** Returns the maximum number of pending fast open connections per loop; 0, the default, disables fast open. */
    public int getTcpFastopen() {
        return tcpFastopen;
    }

    /**
     * Sets {@code TCP_FASTOPEN} (RFC 7413): the maximum number of connections per loop that are accepted with the data
     * of their SYN before the handshake is complete. 0 disables fast open. Must be set before binding.
     *
     * <p>If the network duplicates a SYN, its data may be delivered twice. The protocol above TCP must tolerate that.
     */
    public RdmaRawServerSocketChannelConfig setTcpFastopen(int maxPending) {
        tcpFastopen = ObjectUtil.checkPositiveOrZero(maxPending, "TCP_FASTOPEN");
        return this;
    }

    /** Returns the group that serves the port; null for the group of the server channel. */
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
        return receiveBufferBytes > 0 ? receiveBufferBytes : channel.groupConfig().initialReceiveBufferBytes();
    }

    /** Sets the receive buffer of connections that are accepted later, in bytes. */
    @Override
    public RdmaRawServerSocketChannelConfig setReceiveBufferSize(int bytes) {
        ObjectUtil.checkPositive(bytes, "receiveBufferSize");
        receiveBufferBytes = Math.clamp(bytes, RdmaRawSocketChannelConfig.MIN_RECEIVE_BUFFER_BYTES, 1 << 30);
        return this;
    }

    @Override
    public RdmaRawServerSocketChannelConfig setPerformancePreferences(int connectionTime, int latency, int bandwidth) {
        return this;
    }
}
