package io.rdmaraw.micronaut;

import io.micronaut.context.annotation.BootstrapContextCompatible;
import io.micronaut.context.annotation.Primary;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.annotation.Value;
import io.micronaut.http.netty.channel.DefaultEventLoopGroupFactory;
import io.micronaut.http.netty.channel.EventLoopGroupConfiguration;
import io.micronaut.http.netty.channel.EventLoopGroupFactory;
import io.micronaut.http.netty.channel.NettyChannelType;
import io.netty.channel.Channel;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawIoHandler;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import jakarta.inject.Singleton;

/**
 * Selects the channel classes of Micronaut's servers and clients if the property {@code rdmaraw.device} is set. The
 * kernel serves domain sockets.
 */
@Singleton
@Primary
@BootstrapContextCompatible
@Requires(property = RdmaRawEventLoopGroupFactory.DEVICE)
@Replaces(DefaultEventLoopGroupFactory.class)
final class RdmaRawEventLoopGroupFactory implements EventLoopGroupFactory {
    static final String DEVICE = "rdmaraw.device";

    private final RdmaRawIoHandlerConfig config;

    /** Called by Micronaut. */
    RdmaRawEventLoopGroupFactory(@Value("${" + DEVICE + "}") String device) {
        config = RdmaRawIoHandlerConfig.builder().device(device).build();
    }

    RdmaRawIoHandlerConfig config() {
        return config;
    }

    @Override
    public boolean isNative() {
        return true;
    }

    @Override
    public IoHandlerFactory createIoHandlerFactory(EventLoopGroupConfiguration loops) {
        return RdmaRawIoHandler.newFactory(config);
    }

    @Override
    public Class<? extends Channel> channelClass(NettyChannelType type) {
        return switch (type) {
            case SERVER_SOCKET -> RdmaRawServerSocketChannel.class;
            case CLIENT_SOCKET -> RdmaRawSocketChannel.class;
            case DATAGRAM_SOCKET -> RdmaRawDatagramChannel.class;
            case DOMAIN_SERVER_SOCKET -> NioServerDomainSocketChannel.class;
            case DOMAIN_SOCKET -> NioDomainSocketChannel.class;
        };
    }

    @Override
    public Class<? extends Channel> channelClass(NettyChannelType type, EventLoopGroupConfiguration loops) {
        return channelClass(type);
    }

    @Override
    public Channel channelInstance(NettyChannelType type, EventLoopGroupConfiguration loops) {
        return switch (type) {
            case SERVER_SOCKET -> new RdmaRawServerSocketChannel();
            case CLIENT_SOCKET -> new RdmaRawSocketChannel();
            case DATAGRAM_SOCKET -> new RdmaRawDatagramChannel();
            case DOMAIN_SERVER_SOCKET -> new NioServerDomainSocketChannel();
            case DOMAIN_SOCKET -> new NioDomainSocketChannel();
        };
    }
}
