package io.rdmaraw.tcp.stack;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.queue.SharedDevice;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Life cycle of the shutdown hook. {@code EndOfProcessOverVethTest} checks what it does. */
@Timeout(60)
class TcpShutdownHookTest {
    private static final String DEVICE = "soft:loop:end-of-process";

    private final RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1,
            RdmaRawIoHandlerConfig.builder().device(DEVICE).build());
    private final AtomicInteger inactive = new AtomicInteger();
    private Channel server;
    private SharedDevice device;
    private TcpStack stack;

    private final class InactiveCounter extends ChannelInboundHandlerAdapter {
        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            inactive.incrementAndGet();
        }
    }

    @BeforeEach
    void openStack() throws InterruptedException {
        server = new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new InactiveCounter()).bind(new InetSocketAddress("127.0.0.1", 0)).sync().channel();
        device = SharedDevice.acquire(DEVICE);
        stack = DeviceStacks.of(device).getFirst();
    }

    @AfterEach
    void shutDown() {
        device.release();
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    @Test
    void deviceInMemoryNeedsNoHook() {
        assertNull(TcpShutdownHook.hook());
    }

    @Test
    void hookIsRemovedWithTheLastStack() {
        TcpShutdownHook.add(stack);
        Thread hook = TcpShutdownHook.hook();
        assertNotNull(hook);
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        assertNull(TcpShutdownHook.hook());
        assertFalse(Runtime.getRuntime().removeShutdownHook(hook), "the hook is still registered");
    }

    /** A client that reconnects when its channel is closed would open connections that are never closed. */
    @Test
    void handlersAreNotCalledAndClientsAreRefused() throws InterruptedException {
        Bootstrap client = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class)
                .handler(new InactiveCounter());
        client.connect(server.localAddress()).sync();
        TcpShutdownHook.add(stack);
        TcpShutdownHook.closeConnections();
        group.submit(() -> { }).sync();
        assertEquals(0, inactive.get(), "calls of channelInactive");
        assertFalse(client.connect(server.localAddress()).await().isSuccess(), "a connection to the closed server");
    }
}
