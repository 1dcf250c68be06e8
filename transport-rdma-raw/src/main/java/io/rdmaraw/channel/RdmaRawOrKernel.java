package io.rdmaraw.channel;

import io.netty.channel.IoEventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollDatagramChannel;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.ServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

import java.util.concurrent.ThreadFactory;

/**
 * This transport where its device can be used, and else one of Netty's own, on which the kernel carries the channels:
 * epoll where its library is there, or NIO. For programs that are to run everywhere; one that is to run on the device
 * or not at all has {@link RdmaRawEventLoopGroup} and its exceptions.
 *
 * {@snippet :
 * RdmaRawOrKernel transport = RdmaRawOrKernel.choose(RdmaRawIoHandlerConfig.builder().device("soft:xdp:eth0").build());
 * bootstrap.group(transport.newGroup(2)).channel(transport.serverSocketChannel());
 * }
 *
 * <p>Netty warns of options that the chosen transport does not have, such as those of {@link RdmaRawChannelOption}.
 */
public final class RdmaRawOrKernel {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(RdmaRawOrKernel.class);

    private final Kind kind;
    private final RdmaRawIoHandlerConfig config;
    private final Throwable unavailabilityCause;

    private RdmaRawOrKernel(Kind kind, RdmaRawIoHandlerConfig config, Throwable unavailabilityCause) {
        this.kind = kind;
        this.config = config;
        this.unavailabilityCause = unavailabilityCause;
    }

    /**
     * Tries the device, as {@link RdmaRaw#unavailabilityCause(RdmaRawIoHandlerConfig)} does, and logs it at WARN if
     * another transport takes its place. Not to be called on an event loop.
     */
    public static RdmaRawOrKernel choose(RdmaRawIoHandlerConfig config) {
        Throwable cause = RdmaRaw.unavailabilityCause(config);
        if (cause == null) {
            return new RdmaRawOrKernel(Kind.RDMA_RAW, config, null);
        }
        Kind kind = hasEpoll() ? Kind.EPOLL : Kind.NIO;
        LOGGER.warn("{} serves in place of the device {}, so the kernel carries all channels: {}", kind.description,
                config.device(), cause.getMessage() == null ? cause.toString() : cause.getMessage());
        return new RdmaRawOrKernel(kind, config, cause);
    }

    /** Its jar may be missing, or only its library. */
    private static boolean hasEpoll() {
        try {
            return Epoll.isAvailable();
        } catch (LinkageError e) {
            return false;
        }
    }

    /** Tells whether channels are on the device. */
    public boolean isRdmaRaw() {
        return kind == Kind.RDMA_RAW;
    }

    /** Returns why the device cannot be used, or null if it is. */
    public Throwable unavailabilityCause() {
        return unavailabilityCause;
    }

    /** Makes a group of Netty's default number of loops. */
    public IoEventLoopGroup newGroup() {
        return newGroup(0);
    }

    /**
     * Makes a group.
     *
     * @param loops number of loops, 0 for Netty's default
     */
    public IoEventLoopGroup newGroup(int loops) {
        return kind == Kind.RDMA_RAW ? new RdmaRawEventLoopGroup(loops, config)
                : new MultiThreadIoEventLoopGroup(loops, kernelHandlers());
    }

    /**
     * Makes a group whose threads come from a factory.
     *
     * @param loops number of loops, 0 for Netty's default
     */
    public IoEventLoopGroup newGroup(int loops, ThreadFactory threadFactory) {
        return kind == Kind.RDMA_RAW ? new RdmaRawEventLoopGroup(loops, threadFactory, config)
                : new MultiThreadIoEventLoopGroup(loops, threadFactory, kernelHandlers());
    }

    private IoHandlerFactory kernelHandlers() {
        return kind == Kind.EPOLL ? EpollIoHandler.newFactory() : NioIoHandler.newFactory();
    }

    /** Returns the class of channels that listen. */
    public Class<? extends ServerSocketChannel> serverSocketChannel() {
        return switch (kind) {
            case RDMA_RAW -> RdmaRawServerSocketChannel.class;
            case EPOLL -> EpollServerSocketChannel.class;
            case NIO -> NioServerSocketChannel.class;
        };
    }

    /** Returns the class of channels that connect. */
    public Class<? extends SocketChannel> socketChannel() {
        return switch (kind) {
            case RDMA_RAW -> RdmaRawSocketChannel.class;
            case EPOLL -> EpollSocketChannel.class;
            case NIO -> NioSocketChannel.class;
        };
    }

    /** Returns the class of channels of datagrams. */
    public Class<? extends DatagramChannel> datagramChannel() {
        return switch (kind) {
            case RDMA_RAW -> RdmaRawDatagramChannel.class;
            case EPOLL -> EpollDatagramChannel.class;
            case NIO -> NioDatagramChannel.class;
        };
    }

    @Override
    public String toString() {
        return kind.description;
    }

    private enum Kind {
        RDMA_RAW("the RDMA raw-packet transport"),
        EPOLL("Netty's epoll transport"),
        NIO("Netty's NIO transport");

        private final String description;

        Kind(String description) {
            this.description = description;
        }
    }
}
