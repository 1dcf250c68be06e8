package io.rdmaraw.examples.server;

import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollDatagramChannel;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.ServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioChannelOption;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.channel.unix.UnixChannelOption;
import io.netty.channel.uring.IoUring;
import io.netty.channel.uring.IoUringDatagramChannel;
import io.netty.channel.uring.IoUringServerSocketChannel;
import io.netty.channel.uring.IoUringSocketChannel;
import io.rdmaraw.channel.RdmaRaw;
import io.rdmaraw.channel.RdmaRawChannelOption;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.verbs.DeviceName;

import java.net.StandardSocketOptions;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ThreadFactory;

/** The transports, with their event loops and channel classes. */
public enum Transport {
    /** The selectors of the JDK. */
    NIO(NioDatagramChannel.class, NioSocketChannel.class, NioServerSocketChannel.class,
            NioChannelOption.of(StandardSocketOptions.SO_REUSEPORT)) {
        @Override
        public EventLoopGroup newGroup(int threads, ThreadFactory factory, String device, int slotBytes,
                Set<Tuning> tuning) {
            return group(threads, factory, NioIoHandler.newFactory());
        }

        @Override
        public Throwable unavailabilityCause() {
            return null;
        }
    },

    /** Linux epoll. */
    EPOLL(EpollDatagramChannel.class, EpollSocketChannel.class, EpollServerSocketChannel.class,
            UnixChannelOption.SO_REUSEPORT) {
        @Override
        public EventLoopGroup newGroup(int threads, ThreadFactory factory, String device, int slotBytes,
                Set<Tuning> tuning) {
            return group(threads, factory, Tuning.epoll(tuning));
        }

        @Override
        public Throwable unavailabilityCause() {
            return Epoll.unavailabilityCause();
        }
    },

    /** Linux io_uring. */
    IO_URING(IoUringDatagramChannel.class, IoUringSocketChannel.class, IoUringServerSocketChannel.class,
            UnixChannelOption.SO_REUSEPORT) {
        @Override
        public EventLoopGroup newGroup(int threads, ThreadFactory factory, String device, int slotBytes,
                Set<Tuning> tuning) {
            return group(threads, factory, Tuning.ioUring(tuning));
        }

        @Override
        public Throwable unavailabilityCause() {
            return IoUring.unavailabilityCause();
        }
    },

    /** Raw-packet queue pairs of a device. */
    RDMA_RAW(RdmaRawDatagramChannel.class, RdmaRawSocketChannel.class, RdmaRawServerSocketChannel.class,
            RdmaRawChannelOption.SO_REUSEPORT) {
        @Override
        public EventLoopGroup newGroup(int threads, ThreadFactory factory, String device, int slotBytes,
                Set<Tuning> tuning) {
            return new RdmaRawEventLoopGroup(threads, factory,
                    RdmaRawIoHandlerConfig.builder().device(device).slotBytes(slotBytes).build());
        }

        @Override
        public Throwable unavailabilityCause() {
            return RdmaRaw.unavailabilityCause();
        }

        @Override
        boolean isInMemory(String device) {
            return new DeviceName(device).isLoopback();
        }
    };

    private final Class<? extends DatagramChannel> datagramChannel;
    private final Class<? extends SocketChannel> socketChannel;
    private final Class<? extends ServerSocketChannel> serverSocketChannel;
    private final ChannelOption<Boolean> reusePort;

    Transport(Class<? extends DatagramChannel> datagramChannel, Class<? extends SocketChannel> socketChannel,
            Class<? extends ServerSocketChannel> serverSocketChannel, ChannelOption<Boolean> reusePort) {
        this.datagramChannel = datagramChannel;
        this.socketChannel = socketChannel;
        this.serverSocketChannel = serverSocketChannel;
        this.reusePort = reusePort;
    }

    /**
     * Creates event loops with default settings.
     *
     * @param device device of {@link #RDMA_RAW}; the other transports use the kernel's interfaces
     * @param slotBytes frame memory of {@link #RDMA_RAW}
     */
    public final EventLoopGroup newGroup(int threads, ThreadFactory factory, String device, int slotBytes) {
        return newGroup(threads, factory, device, slotBytes, Set.of());
    }

    /** Creates the event loops with settings of this transport. */
    public abstract EventLoopGroup newGroup(int threads, ThreadFactory factory, String device, int slotBytes,
            Set<Tuning> tuning);

    /** Returns why this transport is unavailable, or null if it is available. */
    public abstract Throwable unavailabilityCause();

    /** Returns whether the device exists only in this process, so that kernel sockets cannot reach it. */
    boolean isInMemory(String device) {
        return false;
    }

    private static EventLoopGroup group(int threads, ThreadFactory factory, IoHandlerFactory ioHandlerFactory) {
        return new MultiThreadIoEventLoopGroup(threads, factory, ioHandlerFactory);
    }

    /** Returns the class of UDP channels. */
    public Class<? extends DatagramChannel> datagramChannel() {
        return datagramChannel;
    }

    /** Returns the class of TCP connections. */
    public Class<? extends SocketChannel> socketChannel() {
        return socketChannel;
    }

    /** Returns the class of TCP listeners. */
    public Class<? extends ServerSocketChannel> serverSocketChannel() {
        return serverSocketChannel;
    }

    /** Returns the option that allows several UDP channels, one per loop, to share a port. */
    ChannelOption<Boolean> reusePort() {
        return reusePort;
    }

    /** Returns the name on the command line. */
    @Override
    public String toString() {
        return this == IO_URING ? "io_uring" : name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
