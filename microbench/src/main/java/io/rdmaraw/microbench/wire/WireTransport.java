package io.rdmaraw.microbench.wire;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandler;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.epoll.EpollDatagramChannel;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.rdmaraw.channel.RdmaRawAddress;
import io.rdmaraw.channel.RdmaRawChannel;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandler;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.verbs.flow.FlowSpec;
import java.net.InetSocketAddress;

/** The echo servers in Java: a pipeline for frames or for datagrams, on one of several transports. */
enum WireTransport {
    XDP("rdma-raw", "soft:xdp"),
    PACKET("rdma-raw", "soft:packet"),
    XDP_DATAGRAM("rdma-raw-datagram", "soft:xdp"),
    EPOLL_RECVMMSG("epoll-recvmmsg", "kernel"),
    EPOLL("epoll", "kernel"),
    NIO("nio", "kernel");

    private static final int DATAGRAMS_PER_CALL = 64;
    private static final int MAX_DATAGRAM_BYTES = 2048;

    private final String text;
    private final String device;

    WireTransport(String text, String device) {
        this.text = text;
        this.device = device;
    }

    /** Returns the name in reports. Scripts rely on it. */
    String text() {
        return text;
    }

    String device() {
        return device;
    }

    String deviceOn(String networkInterface) {
        return device + ':' + networkInterface;
    }

    EventLoopGroup newGroup(String networkInterface) {
        return switch (this) {
            case XDP, PACKET -> new RdmaRawEventLoopGroup(1);
            case XDP_DATAGRAM -> new MultiThreadIoEventLoopGroup(1, RdmaRawIoHandler.newFactory(
                    RdmaRawIoHandlerConfig.builder().device(deviceOn(networkInterface)).build()));
            case EPOLL, EPOLL_RECVMMSG -> new MultiThreadIoEventLoopGroup(1, EpollIoHandler.newFactory());
            case NIO -> new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        };
    }

    Channel bind(EventLoopGroup group, String networkInterface, InetSocketAddress address)
            throws InterruptedException {
        Bootstrap bootstrap = new Bootstrap().group(group).handler(newHandler());
        switch (this) {
            case XDP, PACKET -> bootstrap.channel(RdmaRawChannel.class);
            case XDP_DATAGRAM -> bootstrap.channel(RdmaRawDatagramChannel.class);
            case EPOLL -> bootstrap.channel(EpollDatagramChannel.class);
            case EPOLL_RECVMMSG -> bootstrap.channel(EpollDatagramChannel.class)
                    .option(EpollChannelOption.MAX_DATAGRAM_PAYLOAD_SIZE, MAX_DATAGRAM_BYTES)
                    .option(ChannelOption.RECVBUF_ALLOCATOR,
                            new FixedRecvByteBufAllocator(DATAGRAMS_PER_CALL * MAX_DATAGRAM_BYTES));
            case NIO -> bootstrap.channel(NioDatagramChannel.class);
        }
        return bootstrap.bind(takesFrames()
                ? RdmaRawAddress.of(deviceOn(networkInterface), rule(address)) : address).sync().channel();
    }

    private boolean takesFrames() {
        return this == XDP || this == PACKET;
    }

    private ChannelInboundHandler newHandler() {
        return takesFrames() ? new FrameEcho() : new DatagramEcho();
    }

    static FlowSpec rule(InetSocketAddress address) {
        return FlowSpec.parse("dst " + address.getAddress().getHostAddress() + " udp dst-port " + address.getPort());
    }
}
