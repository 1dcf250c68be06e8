package io.rdmaraw.channel;

import io.netty.channel.ChannelOption;

/**
 * Channel options of this transport, in addition to those of {@link ChannelOption}.
 *
 * {@snippet :
 * bootstrap.childOption(RdmaRawChannelOption.TCP_CONGESTION, "bbr");
 * }
 *
 * <p>Each option applies to some kinds of channels only; its description names them. Some options equal constants of
 * Netty's epoll or Unix transport. Programs that use those constants need no change. The kernel may carry a connection,
 * for example to a peer on the same host. Where stated, an option has no effect on such connections. An option that
 * was not set reads as 0 if its default depends on {@link RdmaRawTcpSettings}.
 */
public final class RdmaRawChannelOption {
    /**
     * For raw channels: fires the frames of one poll as a {@link FrameBurst} instead of one ByteBuf each. A burst has
     * at most {@link FrameBurst#MAX_FRAMES} frames, or fewer if the user has limited reads. Default false.
     */
    public static final ChannelOption<Boolean> FRAME_BURSTS =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "FRAME_BURSTS");

    /**
     * For raw channels: maximum number of received frames that the channel queues while reads are paused (auto-read
     * off). Further frames are dropped and counted. Default 256. Datagram channels use {@code SO_RCVBUF} instead.
     */
    public static final ChannelOption<Integer> RECEIVE_BACKLOG =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "RECEIVE_BACKLOG");

    /**
     * Allows several datagram or server channels of this process to bind the same port, if all of them set the option.
     * Each connection or flow is assigned to one of the channels. Do not share a port of a network interface between
     * processes: both would answer each segment. Must be set before binding. Default false. Same option as
     * {@code UnixChannelOption.SO_REUSEPORT}.
     */
    public static final ChannelOption<Boolean> SO_REUSEPORT =
            ChannelOption.valueOf("io.netty.channel.unix.UnixChannelOption#SO_REUSEPORT");

    /**
     * For datagram channels: sets the recipient of received {@link io.netty.channel.socket.DatagramPacket}s to the
     * destination address of the datagram. If false, which is the default, the recipient is the channel's local
     * address, which may be a wildcard.
     * Same option as {@code EpollChannelOption.IP_RECVORIGDSTADDR}.
     */
    public static final ChannelOption<Boolean> IP_RECVORIGDSTADDR = ChannelOption.valueOf("IP_RECVORIGDSTADDR");

    /**
     * Time to live or hop limit of unicast datagrams and TCP segments: 1 to 255. Default 64. A SYN-ACK sent before
     * the connection has a channel, and answers in TIME-WAIT, always use 64. No effect on connections that the kernel
     * carries.
     */
    public static final ChannelOption<Integer> IP_TTL = ChannelOption.valueOf(RdmaRawChannelOption.class, "IP_TTL");

    /**
     * Mark for policy routing ({@code ip rule add fwmark}), like {@code SO_MARK} of Linux. Default 0, no mark.
     *
     * <p>The transport looks up routes with the mark, so the routing rules of the kernel apply. The mark has no effect
     * on a userspace host or an in-memory device. Netfilter does not see the mark, because frames bypass the kernel.
     *
     * <p>Accepted connections inherit the mark of their server channel. SYN-ACKs carry it too, and replies in TIME-WAIT
     * use the mark of the connection. On server and datagram channels the option must be set before binding.
     *
     * <p>The kernel socket of a server or datagram channel gets the same mark, which needs CAP_NET_ADMIN, or
     * CAP_NET_RAW since Linux 5.17. A connect that the kernel would carry fails if a mark is set, because the JDK
     * cannot set it. Setting the option has no effect on a connection that the kernel already carries.
     */
    public static final ChannelOption<Integer> SO_MARK = ChannelOption.valueOf(RdmaRawChannelOption.class, "SO_MARK");

    /**
     * For server and datagram channels: permits binding an address that this host does not have yet, like
     * {@code IP_FREEBIND} of Linux. The device serves the port as soon as its interface has the address. Must be set
     * before binding. Default false. Same option as {@code EpollChannelOption.IP_FREEBIND}.
     */
    public static final ChannelOption<Boolean> IP_FREEBIND = ChannelOption.valueOf("IP_FREEBIND");

    /**
     * Permits the kernel's socket behind a channel to use an address of another host, like {@code IP_TRANSPARENT} of
     * Linux. A server then accepts the connections that a TPROXY rule of the firewall redirects to it. A client that
     * binds such an address is carried by the kernel. Frames of the device do not pass the firewall.
     *
     * <p>Requires CAP_NET_ADMIN or CAP_NET_RAW. Must be set before binding or connecting. Default false. Same option
     * as {@code EpollChannelOption.IP_TRANSPARENT}.
     */
    public static final ChannelOption<Boolean> IP_TRANSPARENT = ChannelOption.valueOf("IP_TRANSPARENT");

    /**
     * For TCP clients that bind port 0: selects the port when the channel connects, like
     * {@code IP_BIND_ADDRESS_NO_PORT} of Linux. Connections to different peers can then use the same port. Until then,
     * the local address has port 0. Must be set before binding. Default false. Same option as
     * {@code EpollChannelOption.IP_BIND_ADDRESS_NO_PORT}.
     */
    public static final ChannelOption<Boolean> IP_BIND_ADDRESS_NO_PORT =
            ChannelOption.valueOf("IP_BIND_ADDRESS_NO_PORT");

    /**
     * Enables a kernel socket on the port of a datagram channel that is bound on the loopback device
     * {@code soft:loop}. Other programs on this host exchange datagrams with the channel through that socket. Default
     * true. Must be set before binding. No effect on other devices.
     */
    public static final ChannelOption<Boolean> KERNEL_SOCKET =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "KERNEL_SOCKET");

    /**
     * Seconds without traffic before keepalive probes start, if {@code SO_KEEPALIVE} is set. The default is
     * {@link RdmaRawTcpSettings#keepAliveIdle}, two hours. Same option as {@code EpollChannelOption.TCP_KEEPIDLE}.
     */
    public static final ChannelOption<Integer> TCP_KEEPIDLE =
            ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#TCP_KEEPIDLE");

    /**
     * Seconds between keepalive probes. The default is {@link RdmaRawTcpSettings#keepAliveInterval}, 75. Same option as
     * {@code EpollChannelOption.TCP_KEEPINTVL}.
     */
    public static final ChannelOption<Integer> TCP_KEEPINTVL =
            ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#TCP_KEEPINTVL");

    /**
     * Number of unanswered keepalive probes after which the connection ends: 1 to 127. The default is
     * {@link RdmaRawTcpSettings#keepAliveProbes}, 9. No effect together with {@link #TCP_USER_TIMEOUT}. Same option as
     * {@code EpollChannelOption.TCP_KEEPCNT}.
     */
    public static final ChannelOption<Integer> TCP_KEEPCNT =
            ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#TCP_KEEPCNT");

    /**
     * Maximum time in milliseconds that data may stay unacknowledged, or unsent because of a closed window, before the
     * connection ends. The time replaces the limits on the numbers of retransmissions and of keepalive probes. It also
     * limits a connect, unless {@link #TCP_SYNCNT} is set. The default is {@link RdmaRawTcpSettings#userTimeout}, which
     * sets no limit. Setting 0 on an open connection removes its limit. Same option as
     * {@code EpollChannelOption.TCP_USER_TIMEOUT}. No effect on connections that the kernel carries.
     */
    public static final ChannelOption<Integer> TCP_USER_TIMEOUT =
            ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#TCP_USER_TIMEOUT");

    /**
     * Number of times that the SYN of a connect is retransmitted: 1 to 127, like {@code TCP_SYNCNT} of Linux. The
     * default is {@link RdmaRawTcpSettings#synRetries}, 6, which takes about two minutes. That default does not apply
     * if {@link #TCP_USER_TIMEOUT} limits the attempt. {@code CONNECT_TIMEOUT_MILLIS} usually ends it earlier. No
     * effect on connections that the kernel carries.
     */
    public static final ChannelOption<Integer> TCP_SYNCNT =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "TCP_SYNCNT");

    /**
     * Name of the congestion control of a TCP connection, like {@code TCP_CONGESTION} of Linux: {@code cubic},
     * {@code reno}, {@code dctcp} or {@code bbr}. The default is
     * {@link RdmaRawIoHandlerConfig.Builder#congestionControl}. No effect on connections that the kernel carries.
     */
    public static final ChannelOption<String> TCP_CONGESTION =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "TCP_CONGESTION");

    /**
     * Maximum send rate of a TCP connection in payload bytes per second, like {@code SO_MAX_PACING_RATE} of Linux. 0,
     * the default, sets no limit. A burst contains the data of one millisecond, but at least two segments and at most
     * 64 KiB. After a pause, two bursts may be sent at once. {@code bbr} always paces; the option then caps its rate.
     * No effect on connections that the kernel carries.
     */
    public static final ChannelOption<Long> SO_MAX_PACING_RATE =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "SO_MAX_PACING_RATE");

    /**
     * Maximum number of unsent bytes in the send buffer of a TCP connection. Bytes beyond the limit stay in the
     * channel's outbound buffer, where they count against the write buffer water marks. 0, the default, sets no limit.
     *
     * <p>A write moves bytes to the send buffer until the limit is reached. If there is any room, it may move a whole
     * segment, which can exceed the limit. Then writes wait until less than half of the limit is unsent. Linux does the
     * same. Same option as {@code EpollChannelOption.TCP_NOTSENT_LOWAT}. No effect on connections that the kernel
     * carries.
     */
    public static final ChannelOption<Long> TCP_NOTSENT_LOWAT =
            ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#TCP_NOTSENT_LOWAT");

    /**
     * Restricts sending to full segments, also with {@code TCP_NODELAY}. A partial segment is sent when the option is
     * set to false, when {@code TCP_NODELAY} is set to true (again), when the output is shut down, or 200 ms after all
     * data in flight was acknowledged. If the peer's window stays smaller than a segment, the persist timer sends as
     * much as fits. Default false. Same option as {@code EpollChannelOption.TCP_CORK}. No effect on connections that
     * the kernel carries.
     */
    public static final ChannelOption<Boolean> TCP_CORK =
            ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#TCP_CORK");

    /**
     * Selects when received segments are acknowledged. True acknowledges them without delay; the segments of one burst
     * share an acknowledgement. False delays an acknowledgement by up to {@link RdmaRawTcpSettings#delayedAck}, 40 ms
     * by default, so that it can be sent with data. Every second full segment is acknowledged without delay.
     *
     * <p>After a pause of the peer, the next 16 acknowledgements are not delayed. If the option is not set, the first
     * 16 of a connection are not delayed either. Unlike on Linux, true is permanent. Same option as
     * {@code EpollChannelOption.TCP_QUICKACK}. No effect on connections that the kernel carries.
     */
    public static final ChannelOption<Boolean> TCP_QUICKACK =
            ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#TCP_QUICKACK");

    /**
     * For server channels: approximate time in seconds that the server waits for data before it accepts a connection.
     * After that time the SYN-ACK is retransmitted, and the client's answer opens the connection without data. 0, the
     * default, disables the wait. Connections from SYN cookies never wait. Must be set before binding. Same option as
     * {@code EpollChannelOption.TCP_DEFER_ACCEPT}. No effect on connections that the kernel carries.
     */
    public static final ChannelOption<Integer> TCP_DEFER_ACCEPT =
            ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#TCP_DEFER_ACCEPT");

    /**
     * Maximum segment size in both directions: 88 to 32,767 bytes of payload and TCP options. The connection announces
     * it to the peer. 0, the default, derives the size from the MTU. Must be set before connecting; for accepted
     * connections, on the server channel before binding. No effect on connections that the kernel carries.
     */
    public static final ChannelOption<Integer> TCP_MAXSEG =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "TCP_MAXSEG");

    /**
     * Maximum time in seconds that the connection of a closed channel stays in FIN-WAIT-2, where it waits for the FIN
     * of the peer. 0, the default, applies {@link RdmaRawTcpSettings#finWait2}, one minute. With a negative value the
     * connection does not enter FIN-WAIT-2: it is reset when the peer has acknowledged all data and the FIN. No effect
     * on connections that the kernel carries.
     */
    public static final ChannelOption<Integer> TCP_LINGER2 =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "TCP_LINGER2");

    /**
     * For TCP: allows a flush to be deferred while more tasks are queued on the loop, up to 32 flushes. The deferred
     * flushes are transmitted together. On {@code soft:xdp:} and {@code soft:packet:} that saves a system call per
     * flush, on a card a doorbell. Default false.
     *
     * <p>Useful for frameworks that write each response in its own task, such as gRPC. A task that blocks the loop
     * delays the deferred flushes.
     */
    public static final ChannelOption<Boolean> FLUSH_CONSOLIDATION =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "FLUSH_CONSOLIDATION");

    /**
     * For server channels: event loop group that serves the port. Each loop of the group receives the connections that
     * the device's hash assigns to it. Set it to the group of the child channels, if that is not the group of the
     * server channel.
     *
     * <p>Segments then arrive on the loop of their connection, and the loop of the server channel needs no queue. The
     * option must be set before the server channel is registered, as {@link io.netty.bootstrap.ServerBootstrap#option}
     * does. Without it, the transport detects the child group at the first connection. By then the server channel's
     * loop has allocated a queue and its memory.
     */
    public static final ChannelOption<RdmaRawEventLoopGroup> ACCEPT_GROUP =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "ACCEPT_GROUP");

    /** Reason given for rejecting {@code ExtendedSocketOptions.SO_INCOMING_NAPI_ID}. */
    static final String NO_NAPI_ID = "received frames do not pass the kernel's network stack; "
            + "the channel's event loop determines its queue";

    private RdmaRawChannelOption() {
    }

    /** Returns the option of the same name of Netty's io_uring transport, which need not be on the class path. */
    static <T> ChannelOption<T> ofIoUring(String name) {
        return ChannelOption.valueOf("io.netty.channel.uring.IoUringChannelOption#" + name);
    }
}
