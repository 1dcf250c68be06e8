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
 * Configures servers and clients of gRPC to use this transport:
 * {@code RdmaRawGrpc.server(NettyServerBuilder.forPort(9090), loops)}. The caller owns the event loop group and shuts
 * it down after the servers and clients.
 */
public final class RdmaRawGrpc {
    private RdmaRawGrpc() {
    }

    /**
     * Configures a server to listen on the group's device. Each connection is served by the loop that receives its
     * segments.
     *
     * @return the builder
     */
    public static NettyServerBuilder server(NettyServerBuilder builder, RdmaRawEventLoopGroup loops) {
        return builder.channelType(RdmaRawServerSocketChannel.class).bossEventLoopGroup(loops)
                .workerEventLoopGroup(loops)
                // The allocator that gRPC sets by default would require a copy of all sent and received data.
                .withChildOption(ChannelOption.ALLOCATOR, RdmaRawByteBufAllocator.DEFAULT)
                // gRPC flushes each connection in a task that does nothing after the flush, so flushes can share a
                // doorbell.
                .withChildOption(RdmaRawChannelOption.FLUSH_CONSOLIDATION, true);
    }

    /**
     * Configures a client channel to open its connections on the group's device.
     *
     * @return the builder
     */
    public static NettyChannelBuilder client(NettyChannelBuilder builder, RdmaRawEventLoopGroup loops) {
        return builder.channelType(RdmaRawSocketChannel.class).eventLoopGroup(loops)
                .withOption(ChannelOption.ALLOCATOR, RdmaRawByteBufAllocator.DEFAULT)
                .withOption(RdmaRawChannelOption.FLUSH_CONSOLIDATION, true);
    }
}
