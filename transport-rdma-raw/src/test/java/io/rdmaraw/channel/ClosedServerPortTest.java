package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInboundHandlerAdapter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.concurrent.TimeUnit;

/** The port of a server is free when {@code close()} returns on the loop, also if the kernel listens on it. */
@Timeout(60)
class ClosedServerPortTest {
    private static final int ROUNDS = 50;

    @Test
    void portIsFreeWhenCloseReturns() throws Exception {
        RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1,
                StreamFixture.config(LoopDevice.inMemory().name).listensByDevice(local -> false).build());
        try {
            for (int i = 0; i < ROUNDS; i++) {
                Channel server = new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                        .childHandler(new ChannelInboundHandlerAdapter()).bind("127.0.0.1", 0).sync().channel();
                InetSocketAddress address = (InetSocketAddress) server.localAddress();
                assertTrue(server.eventLoop().submit(() -> {
                    server.close();
                    try (ServerSocket next = new ServerSocket(address.getPort(), 1, address.getAddress())) {
                        return next.isBound();
                    }
                }).sync().getNow());
            }
        } finally {
            group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        }
    }
}
