package io.rdmaraw.channel;

import io.netty.channel.ChannelOption;

/** Options of the channels of this transport, beside Netty's own. */
public final class RdmaRawChannelOption {
    /**
     * Whether the channel fires the frames of a poll as one {@link FrameBurst} in place of one ByteBuf each. Default
     * false.
     */
    public static final ChannelOption<Boolean> FRAME_BURSTS =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "FRAME_BURSTS");

    /**
     * How many received frames a channel keeps while reads are paused (auto-read off). What exceeds it is dropped and
     * counted. Default 256.
     */
    public static final ChannelOption<Integer> RECEIVE_BACKLOG =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "RECEIVE_BACKLOG");

    /**
     * Whether several datagram channels may bind the same port and share its flows, one channel per flow. Default
     * false. The same option as {@code UnixChannelOption.SO_REUSEPORT}.
     */
    public static final ChannelOption<Boolean> SO_REUSEPORT =
            ChannelOption.valueOf("io.netty.channel.unix.UnixChannelOption#SO_REUSEPORT");

    /**
     * Whether the recipient of a received {@link io.netty.channel.socket.DatagramPacket} is the address that the
     * datagram was sent to, in place of the channel's local address, which may be a wildcard. Default false. The same
     * option as {@code EpollChannelOption.IP_RECVORIGDSTADDR}.
     */
    public static final ChannelOption<Boolean> IP_RECVORIGDSTADDR =
            ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#IP_RECVORIGDSTADDR");

    /**
     * The time to live or hop limit of unicast datagrams and of TCP segments, 1 to 255. Default 64. Segments before a
     * connection has its channel, the answer to a SYN, have 64. Without effect on connections that the kernel carries.
     */
    public static final ChannelOption<Integer> IP_TTL = ChannelOption.valueOf(RdmaRawChannelOption.class, "IP_TTL");

    /**
     * A number that policy rules may ask for when the way to the peer is looked for ({@code ip rule add fwmark}), as
     * {@code SO_MARK} of Linux. Default 0, for none. It is the kernel's rules that have it: on a host of our own, in
     * memory or on an address of its own, it means nothing, and no filter of the kernel's sees what the device sends.
     * Accepted connections have their server's, which its answers to SYNs have too; what TIME-WAIT answers has that of
     * its connection. A server's and a datagram channel's can be set before binding only. What the kernel carries for
     * them on an interface is marked by its sockets, which takes the capability CAP_NET_ADMIN, or CAP_NET_RAW from
     * Linux 5.17 on. A marked channel that connects by the kernel, as its way is not the device's, is refused, since
     * the JDK's sockets cannot be marked; on a connection that the kernel carries already the option has no effect.
     */
    public static final ChannelOption<Integer> SO_MARK = ChannelOption.valueOf(RdmaRawChannelOption.class, "SO_MARK");

    /**
     * Whether a datagram channel on the host's own loop device has a kernel socket on its port too, by which ordinary
     * programs on this host reach it and it reaches them. Default true; to be set before the channel is bound.
     */
    public static final ChannelOption<Boolean> KERNEL_SOCKET =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "KERNEL_SOCKET");

    /** Seconds of silence before keepalive probes; the same option as {@code EpollChannelOption.TCP_KEEPIDLE}. */
    public static final ChannelOption<Integer> TCP_KEEPIDLE =
            ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#TCP_KEEPIDLE");

    /** Seconds between keepalive probes; the same option as {@code EpollChannelOption.TCP_KEEPINTVL}. */
    public static final ChannelOption<Integer> TCP_KEEPINTVL =
            ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#TCP_KEEPINTVL");

    /** Unanswered keepalive probes that end a connection; as {@code EpollChannelOption.TCP_KEEPCNT}. */
    public static final ChannelOption<Integer> TCP_KEEPCNT =
            ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#TCP_KEEPCNT");

    /**
     * Milliseconds that data may stay unacknowledged before the connection ends, 0 for the core's own limits; the same
     * option as {@code EpollChannelOption.TCP_USER_TIMEOUT}. Without effect on connections that the kernel carries.
     */
    public static final ChannelOption<Integer> TCP_USER_TIMEOUT =
            ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#TCP_USER_TIMEOUT");

    /**
     * How often the SYN of an attempt to connect is sent again before the attempt ends, 1 to 127; as {@code TCP_SYNCNT}
     * of Linux. Default 6, with which it takes two minutes: {@code CONNECT_TIMEOUT_MILLIS} ends most attempts before.
     * Without effect on connections that the kernel carries.
     */
    public static final ChannelOption<Integer> TCP_SYNCNT =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "TCP_SYNCNT");

    /**
     * The congestion control of a TCP connection by its name, as {@code TCP_CONGESTION} of Linux: {@code cubic},
     * {@code reno}, {@code dctcp} or {@code bbr}. By default {@link RdmaRawIoHandlerConfig.Builder#congestionControl}
     * of the group. Without effect on connections that the kernel carries.
     */
    public static final ChannelOption<String> TCP_CONGESTION =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "TCP_CONGESTION");

    /**
     * How fast a TCP connection sends at most, in bytes of payload per second, 1 or more; as {@code SO_MAX_PACING_RATE}
     * of Linux. Data leaves in bursts of a millisecond's worth, two segments at least and 64 KiB at most. 0, the
     * default, is no limit. {@code bbr} paces in any case, at this rate at most. Without effect on connections that the
     * kernel carries.
     */
    public static final ChannelOption<Long> SO_MAX_PACING_RATE =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "SO_MAX_PACING_RATE");

    /**
     * Bytes of a TCP connection that may wait unsent in its send buffer: what is written beyond that stays in the
     * channel's outbound buffer, and counts against its water marks, so that what is urgent overtakes it there. At
     * least a segment is taken; more is when less than half of this is unsent. 0, the default, for no such bound. The
     * same option as {@code EpollChannelOption.TCP_NOTSENT_LOWAT}. Without effect on connections that the kernel
     * carries.
     */
    public static final ChannelOption<Long> TCP_NOTSENT_LOWAT =
            ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#TCP_NOTSENT_LOWAT");

    /**
     * Whether only full segments are sent, whatever {@code TCP_NODELAY} says: what is held back goes when this is set
     * to false, when the output ends, or after 200 ms without anything on its way. Default false; the same option as
     * {@code EpollChannelOption.TCP_CORK}. Without effect on connections that the kernel carries.
     */
    public static final ChannelOption<Boolean> TCP_CORK =
            ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#TCP_CORK");

    /**
     * Whether each segment is acknowledged at once (true), or acknowledgements wait for what goes out anyway, up to 40
     * ms (false). Unless it is set the first 16 of a connection, and of what comes after a pause, are sent at once. It
     * lasts, while on Linux it does not. The same option as {@code EpollChannelOption.TCP_QUICKACK}. Without effect on
     * connections that the kernel carries.
     */
    public static final ChannelOption<Boolean> TCP_QUICKACK =
            ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#TCP_QUICKACK");

    /**
     * For how many seconds, about, a server waits for data before it accepts a connection; after that it does so
     * without. 0, the default, for not at all. To be set before binding. The same option as {@code
     * EpollChannelOption.TCP_DEFER_ACCEPT}. Without effect on connections that the kernel carries.
     */
    public static final ChannelOption<Integer> TCP_DEFER_ACCEPT =
            ChannelOption.valueOf("io.netty.channel.epoll.EpollChannelOption#TCP_DEFER_ACCEPT");

    /**
     * The largest payload of a segment that the peer is told, and that it is sent: 88 to 32,767 bytes, options
     * included; 0, the default, for what the MTU allows. To be set before connecting, for accepted connections on the
     * server before binding. Without effect on connections that the kernel carries.
     */
    public static final ChannelOption<Integer> TCP_MAXSEG =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "TCP_MAXSEG");

    /**
     * For how many seconds the connection of a closed channel waits for the end of what its peer sends, when the peer
     * has acknowledged ours: FIN-WAIT-2. 0, the default, for a minute; below 0 the peer is reset at once. Without
     * effect on connections that the kernel carries.
     */
    public static final ChannelOption<Integer> TCP_LINGER2 =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "TCP_LINGER2");

    /**
     * Whether a flush by a task of the loop may wait for what the tasks behind it flush, up to 32 flushes: they share a
     * doorbell, which on an interface is a system call. For frameworks that answer by a task for each connection, as
     * gRPC does. Who blocks the loop after such a flush, in the same task or the next, holds it up. Default false.
     */
    public static final ChannelOption<Boolean> SHARED_FLUSHES =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "SHARED_FLUSHES");

    /**
     * The group whose loops serve a listening port, each the connections that the device's hash gives it: the group of
     * the children, when that is not the server channel's own. Then nothing is passed between loops, and the server
     * channel's own loop needs no queue. To be set before the server channel is registered, as {@link
     * io.netty.bootstrap.ServerBootstrap#option} does. Without it the first connection tells which group that is, but
     * the server channel's loop has a queue, with its memory, by then.
     */
    public static final ChannelOption<RdmaRawEventLoopGroup> ACCEPT_GROUP =
            ChannelOption.valueOf(RdmaRawChannelOption.class, "ACCEPT_GROUP");

    /** Why {@code ExtendedSocketOptions.SO_INCOMING_NAPI_ID} is refused. */
    static final String NO_NAPI_ID = "what it receives does not pass the kernel's network stack; "
            + "the loop of a channel tells which queue it is on";

    private RdmaRawChannelOption() {
    }

    /** The option of the same name of Netty's io_uring transport, which need not be on the class path. */
    static <T> ChannelOption<T> ofIoUring(String name) {
        return ChannelOption.valueOf("io.netty.channel.uring.IoUringChannelOption#" + name);
    }
}
