package io.rdmaraw.testsuite.contract;

import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.EpollDatagramChannel;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;

/** A transport that runs programs. */
record Transport(String name, IntFunction<EventLoopGroup> newGroup, IntFunction<EventLoopGroup> newKernelGroup,
        Class<? extends ServerChannel> server, Class<? extends Channel> client, Class<? extends Channel> datagram) {
    private static final AtomicInteger DEVICES = new AtomicInteger();
    private static final int QUEUE_DEPTH = 256;
    private static final int SLOTS = 2048;

    static Transport nio() {
        IntFunction<EventLoopGroup> groups = loops -> group(loops, "nio", NioIoHandler.newFactory());
        return new Transport("nio", groups, groups, NioServerSocketChannel.class, NioSocketChannel.class,
                NioDatagramChannel.class);
    }

    static Transport epoll() {
        IntFunction<EventLoopGroup> groups = loops -> group(loops, "epoll", EpollIoHandler.newFactory());
        return new Transport("epoll", groups, groups, EpollServerSocketChannel.class, EpollSocketChannel.class,
                EpollDatagramChannel.class);
    }

    /** Returns this project's transport on its own loop device. */
    static Transport rdmaRaw() {
        String device = "soft:loop:contract" + DEVICES.incrementAndGet();
        return new Transport("rdma-raw", loops -> own(loops, device, true), loops -> own(loops, device, false),
                RdmaRawServerSocketChannel.class, RdmaRawSocketChannel.class, RdmaRawDatagramChannel.class);
    }

    private static EventLoopGroup own(int loops, String device, boolean byDevice) {
        RdmaRawIoHandlerConfig config = RdmaRawIoHandlerConfig.builder().device(device).receiveQueueDepth(QUEUE_DEPTH)
                .sendQueueDepth(QUEUE_DEPTH).slotCount(SLOTS).spin(1, TimeUnit.MICROSECONDS)
                .listensByDevice(local -> byDevice)
                .connectsByDevice(remote -> byDevice).build();
        return new RdmaRawEventLoopGroup(loops, new DefaultThreadFactory("contract-rdma-raw", true), config);
    }

    private static EventLoopGroup group(int loops, String name, IoHandlerFactory handlers) {
        return new MultiThreadIoEventLoopGroup(loops, new DefaultThreadFactory("contract-" + name, true), handlers);
    }
}
