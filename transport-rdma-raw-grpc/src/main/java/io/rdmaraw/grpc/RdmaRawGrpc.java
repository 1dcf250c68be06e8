package io.rdmaraw.grpc;

import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.netty.channel.ChannelOption;
import io.rdmaraw.channel.RdmaRawByteBufAllocator;
import io.rdmaraw.channel.RdmaRawChannelOption;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;

/**
 * Puts gRPC's servers and clients on this transport: {@code RdmaRawGrpc.server(NettyServerBuilder.forPort(9090),
 * loops)}. The group stays its maker's, who ends it after them.
 */
public final class RdmaRawGrpc {
    private RdmaRawGrpc() {
    }

    /**
     * Has a server listen by the group's device, and serve its connections on the loops that receive them.
     *
     * @return the builder
     */
    public static NettyServerBuilder server(NettyServerBuilder builder, RdmaRawEventLoopGroup loops) {
        return builder.channelType(RdmaRawServerSocketChannel.class).bossEventLoopGroup(loops)
                .workerEventLoopGroup(loops)
                // gRPC sets an allocator of its own, by which all that is received and sent would be copied.
                .withChildOption(ChannelOption.ALLOCATOR, RdmaRawByteBufAllocator.DEFAULT)
                // It flushes each connection by a task of its own, which does nothing after that.
                .withChildOption(RdmaRawChannelOption.SHARED_FLUSHES, true);
    }

    /**
     * Has a client's channel open its connections by the group's device.
     *
     * @return the builder
     */
    public static NettyChannelBuilder client(NettyChannelBuilder builder, RdmaRawEventLoopGroup loops) {
        return builder.channelType(RdmaRawSocketChannel.class).eventLoopGroup(loops)
                .withOption(ChannelOption.ALLOCATOR, RdmaRawByteBufAllocator.DEFAULT)
                .withOption(RdmaRawChannelOption.SHARED_FLUSHES, true);
    }
}
