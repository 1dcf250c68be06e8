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
 * Selects this transport if its device is usable and falls back to Netty's epoll or NIO transport otherwise. After a
 * fallback, the kernel carries all channels. Immutable and thread-safe.
 *
 * {@snippet :
 * RdmaRawOrKernel transport = RdmaRawOrKernel.choose(RdmaRawIoHandlerConfig.builder().device("soft:xdp:eth0").build());
 * bootstrap.group(transport.newGroup(2)).channel(transport.serverSocketChannel());
 * }
 *
 * <p>For programs that must run on every host. A program that requires the device uses {@link RdmaRawEventLoopGroup};
 * its channels fail to register or bind if the device is not usable.
 *
 * <p>Netty logs a warning for options that the selected transport does not support, such as most of
 * {@link RdmaRawChannelOption}.
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
     * Selects the transport. Checks the device like {@link RdmaRaw#unavailabilityCause(RdmaRawIoHandlerConfig)}. A
     * fallback is logged at WARN with its reason.
     *
     * <p>Blocks, usually for some tenths of a second. Must not be called on an event loop.
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

    /** Returns whether epoll is available. Both its jar and its native library are optional. */
    private static boolean hasEpoll() {
        try {
            return Epoll.isAvailable();
        } catch (LinkageError e) {
            return false;
        }
    }

    /** Returns whether the device is used; false after a fallback. */
    public boolean isRdmaRaw() {
        return kind == Kind.RDMA_RAW;
    }

    /** Returns the reason why the device is not usable, or null if it is used. */
    public Throwable unavailabilityCause() {
        return unavailabilityCause;
    }

    /**
     * Creates an event loop group of the selected transport with Netty's default number of loops, two per core. That is
     * rarely right for this transport; see {@link RdmaRawEventLoopGroup}.
     */
    public IoEventLoopGroup newGroup() {
        return newGroup(0);
    }

    /**
     * Creates an event loop group of the selected transport.
     *
     * @param loops number of loops; 0 for Netty's default, two per core
     */
    public IoEventLoopGroup newGroup(int loops) {
        return kind == Kind.RDMA_RAW ? new RdmaRawEventLoopGroup(loops, config)
                : new MultiThreadIoEventLoopGroup(loops, kernelHandlers());
    }

    /**
     * Creates an event loop group of the selected transport with threads of the given factory.
     *
     * @param loops number of loops; 0 for Netty's default, two per core
     */
    public IoEventLoopGroup newGroup(int loops, ThreadFactory threadFactory) {
        return kind == Kind.RDMA_RAW ? new RdmaRawEventLoopGroup(loops, threadFactory, config)
                : new MultiThreadIoEventLoopGroup(loops, threadFactory, kernelHandlers());
    }

    private IoHandlerFactory kernelHandlers() {
        return kind == Kind.EPOLL ? EpollIoHandler.newFactory() : NioIoHandler.newFactory();
    }

    /** Returns the class of TCP server channels. */
    public Class<? extends ServerSocketChannel> serverSocketChannel() {
        return switch (kind) {
            case RDMA_RAW -> RdmaRawServerSocketChannel.class;
            case EPOLL -> EpollServerSocketChannel.class;
            case NIO -> NioServerSocketChannel.class;
        };
    }

    /** Returns the class of TCP client channels. */
    public Class<? extends SocketChannel> socketChannel() {
        return switch (kind) {
            case RDMA_RAW -> RdmaRawSocketChannel.class;
            case EPOLL -> EpollSocketChannel.class;
            case NIO -> NioSocketChannel.class;
        };
    }

    /** Returns the class of UDP channels. */
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
