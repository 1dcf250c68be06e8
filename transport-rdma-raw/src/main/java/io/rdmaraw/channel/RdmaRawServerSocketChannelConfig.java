package io.rdmaraw.channel;

import io.netty.channel.ChannelOption;
import io.netty.channel.ServerChannelRecvByteBufAllocator;
import io.netty.channel.socket.ServerSocketChannelConfig;
import io.netty.util.NetUtil;
import io.netty.util.internal.ObjectUtil;
import io.rdmaraw.tcp.TcpListener;
import jdk.net.ExtendedSocketOptions;

import java.net.StandardSocketOptions;

/** The settings of a {@link RdmaRawServerSocketChannel}. Can be set on any thread; those of binding, before it. */
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
                    .alsoAs(RdmaRawChannelOption.ofIoUring("TCP_DEFER_ACCEPT"), RdmaRawChannelOption.TCP_DEFER_ACCEPT)
                    .with(RdmaRawChannelOption.SO_MARK, c -> c.mark, RdmaRawServerSocketChannelConfig::setMark)
                    .with(RdmaRawChannelOption.ACCEPT_GROUP, c -> c.acceptGroup,
                            RdmaRawServerSocketChannelConfig::setAcceptGroup)
                    .alsoAs(StandardSocketOptions.SO_RCVBUF, ChannelOption.SO_RCVBUF)
                    .alsoAs(StandardSocketOptions.SO_REUSEADDR, ChannelOption.SO_REUSEADDR)
                    .alsoAs(StandardSocketOptions.SO_REUSEPORT, RdmaRawChannelOption.SO_REUSEPORT)
                    .without(ExtendedSocketOptions.SO_INCOMING_NAPI_ID, RdmaRawChannelOption.NO_NAPI_ID);

    private final RdmaRawServerSocketChannel channel;
    private volatile int backlog = Math.max(1, NetUtil.SOMAXCONN);
    /** 0 while it is not set. */
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

    /** Hands what accepted connections inherit to one of them. */
    void applyTo(RdmaRawSocketChannelConfig child) {
        if (receiveBufferBytes > 0) {
            child.setReceiveBufferSize(receiveBufferBytes);
        }
        child.inheritMark(mark);
    }

    /** Hands what holds before a connection is accepted to a loop's listener. */
    void applyTo(TcpListener listener) {
        listener.fastOpen(tcpFastopen);
        listener.deferAccept(deferAcceptSeconds);
        listener.maxSegment(maxSegmentBytes);
        listener.mark(mark);
    }

    int mark() {
        return mark;
    }

    /** The kernel's socket and handshakes under way would keep the old one. */
    private void setMark(int value) {
        if (value != mark && channel.localAddress() != null) {
            throw new IllegalStateException("SO_MARK is to be set before the channel is bound");
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
    OptionTable<RdmaRawServerSocketChannelConfig> table() {
        return TABLE;
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

    /**
     * Kept for programs that ask for it: connections of an earlier server never keep a port from the next one on the
     * same event loops.
     */
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

    /** Returns how many connections may be open that were accepted with their SYN; 0, the default, for none. */
    public int getTcpFastopen() {
        return tcpFastopen;
    }

    /**
     * Sets how many connections each loop may have accepted with the data of their SYN, before their handshake is
     * complete: {@code TCP_FASTOPEN} (RFC 7413). A SYN that the network repeats may then be accepted twice, which the
     * protocol above must bear. To be set before binding.
     */
    public RdmaRawServerSocketChannelConfig setTcpFastopen(int maxPending) {
        tcpFastopen = ObjectUtil.checkPositiveOrZero(maxPending, "TCP_FASTOPEN");
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
        return receiveBufferBytes > 0 ? receiveBufferBytes : channel.groupConfig().receiveBufferBytes();
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
}
