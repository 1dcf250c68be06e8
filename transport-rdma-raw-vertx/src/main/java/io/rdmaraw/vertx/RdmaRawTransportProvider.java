package io.rdmaraw.vertx;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ServerChannel;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.InternetProtocolFamily;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import io.rdmaraw.channel.RdmaRaw;
import io.rdmaraw.channel.RdmaRawChannelOption;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandler;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.vertx.core.datagram.DatagramSocketOptions;
import io.vertx.core.net.SocketAddress;
import io.vertx.core.net.TcpConfig;
import io.vertx.core.net.TcpOption;
import io.vertx.core.spi.transport.Transport;

import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnixDomainSocketAddress;
import java.util.concurrent.ThreadFactory;
import java.util.function.BiConsumer;

/** Implements the transport interface of Vert.x: loops, channels, addresses and options. */
final class RdmaRawTransportProvider implements Transport {
    private final RdmaRawIoHandlerConfig config;
    private volatile RdmaRawEventLoopGroup ioLoops;

    RdmaRawTransportProvider(RdmaRawIoHandlerConfig config) {
        this.config = config;
    }

    @Override
    public boolean isAvailable() {
        return RdmaRaw.isAvailable();
    }

    @Override
    public Throwable unavailabilityCause() {
        return RdmaRaw.unavailabilityCause();
    }

    @Override
    public IoHandlerFactory ioHandlerFactory() {
        return RdmaRawIoHandler.newFactory(config);
    }

    /**
     * Creates a group. The I/O ratio of Vert.x is ignored; these loops share their time with tasks by Netty's own rule.
     */
    @Override
    public EventLoopGroup eventLoopGroup(int type, int threads, ThreadFactory factory, int ioRatio) {
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(threads, factory, config);
        if (type == IO_EVENT_LOOP_GROUP) {
            ioLoops = group;
        }
        return group;
    }

    // ---- channels ----

    /**
     * Returns a channel with Netty's default allocator. Vert.x releases received datagrams only if they come from one
     * of Netty's own allocators, and would leak others. For TCP it sets such an allocator itself.
     */
    @Override
    @SuppressWarnings("deprecation") // Vert.x has the deprecated type in its interface
    public DatagramChannel datagramChannel(InternetProtocolFamily family) {
        RdmaRawDatagramChannel channel = new RdmaRawDatagramChannel();
        channel.config().setAllocator(ByteBufAllocator.DEFAULT);
        return channel;
    }

    /** Returns the factory for Netty's name resolver, which releases received datagrams of any allocator. */
    @Override
    public ChannelFactory<? extends DatagramChannel> datagramChannelFactory() {
        return RdmaRawDatagramChannel::new;
    }

    @Override
    public ChannelFactory<? extends Channel> channelFactory(boolean domainSocket) {
        return domainSocket ? NioDomainSocketChannel::new : RdmaRawSocketChannel::new;
    }

    @Override
    public ChannelFactory<? extends ServerChannel> serverChannelFactory(boolean domainSocket) {
        return domainSocket ? NioServerDomainSocketChannel::new : RdmaRawServerSocketChannel::new;
    }

    // ---- addresses ----

    @Override
    public boolean supportsDomainSockets() {
        return true;
    }

    @Override
    public java.net.SocketAddress convert(SocketAddress address) {
        return address.isDomainSocket() ? UnixDomainSocketAddress.of(address.path()) : Transport.super.convert(address);
    }

    @Override
    public SocketAddress convert(java.net.SocketAddress address) {
        return address instanceof UnixDomainSocketAddress domain
                ? SocketAddress.domainSocketAddress(domain.getPath().toString()) : Transport.super.convert(address);
    }

    // ---- options ----

    /** Sets the options of a channel. Vert.x itself sets the multicast options only for its NIO transport. */
    @Override
    public void configure(DatagramChannel channel, DatagramSocketOptions options) {
        Transport.super.configure(channel, options);
        channel.config().setOption(RdmaRawChannelOption.SO_REUSEPORT, options.isReusePort());
        channel.config().setLoopbackModeDisabled(options.isLoopbackModeDisabled());
        if (options.getMulticastTimeToLive() >= 0) {
            channel.config().setTimeToLive(options.getMulticastTimeToLive());
        }
        String name = options.getMulticastNetworkInterface();
        if (name != null) {
            channel.config().setNetworkInterface(networkInterface(name));
        }
    }

    private static NetworkInterface networkInterface(String name) {
        NetworkInterface found;
        try {
            found = NetworkInterface.getByName(name);
        } catch (SocketException e) {
            throw new IllegalArgumentException("the network interface " + name + " cannot be looked up", e);
        }
        if (found == null) {
            throw new IllegalArgumentException("there is no network interface " + name + " for multicast");
        }
        return found;
    }

    @Override
    public void configure(TcpConfig options, boolean domainSocket, Bootstrap bootstrap) {
        if (!domainSocket) {
            setKeepaliveAndTimeout(options, bootstrap::option);
            setIfGiven(options, TcpOption.FASTOPEN_CONNECT, ChannelOption.TCP_FASTOPEN_CONNECT, bootstrap::option);
        }
        Transport.super.configure(options, domainSocket, bootstrap);
    }

    @Override
    public void configure(TcpConfig options, boolean domainSocket, ServerBootstrap bootstrap) {
        if (!domainSocket) {
            bootstrap.option(RdmaRawChannelOption.SO_REUSEPORT, options.isSoReusePort());
            // Vert.x accepts on a single loop. The device must deliver the connections to the I/O loops instead.
            bootstrap.option(RdmaRawChannelOption.ACCEPT_GROUP, ioLoops);
            setKeepaliveAndTimeout(options, bootstrap::childOption);
            setIfGiven(options, TcpOption.FASTOPEN, ChannelOption.TCP_FASTOPEN, bootstrap::option);
        }
        Transport.super.configure(options, domainSocket, bootstrap);
    }

    private static void setKeepaliveAndTimeout(TcpConfig options, BiConsumer<ChannelOption<Integer>, Integer> set) {
        setIfPositive(options, TcpOption.KEEPIDLE, RdmaRawChannelOption.TCP_KEEPIDLE, set);
        setIfPositive(options, TcpOption.KEEPINTVL, RdmaRawChannelOption.TCP_KEEPINTVL, set);
        setIfPositive(options, TcpOption.KEEPCNT, RdmaRawChannelOption.TCP_KEEPCNT, set);
        setIfPositive(options, TcpOption.USER_TIMEOUT, RdmaRawChannelOption.TCP_USER_TIMEOUT, set);
    }

    /** Sets an option. A value of 0 stands for the transport's default. */
    private static void setIfPositive(TcpConfig options, TcpOption<Integer> option,
                                      ChannelOption<Integer> channelOption,
                                      BiConsumer<ChannelOption<Integer>, Integer> set) {
        Integer value = options.getOption(option);
        if (value != null && value > 0) {
            set.accept(channelOption, value);
        }
    }

    private static <T> void setIfGiven(TcpConfig options, TcpOption<T> option, ChannelOption<T> channelOption,
                                       BiConsumer<ChannelOption<T>, T> set) {
        T value = options.getOption(option);
        if (value != null) {
            set.accept(channelOption, value);
        }
    }
}
