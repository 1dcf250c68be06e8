package io.rdmaraw.tcp.stack;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.queue.SharedDevice;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/** Life cycle of the shutdown hook. {@code EndOfProcessOverVethTest} checks what it does. */
@Timeout(60)
class EndOfProcessTest {
    private static final String DEVICE = "soft:loop:end-of-process";

    private final RdmaRawEventLoopGroup group = new RdmaRawEventLoopGroup(1,
            RdmaRawIoHandlerConfig.builder().device(DEVICE).build());
    private SharedDevice device;
    private TcpStack stack;

    @BeforeEach
    void openStack() throws InterruptedException {
        new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new ChannelInboundHandlerAdapter()).bind(new InetSocketAddress("127.0.0.1", 0)).sync();
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
        assertNull(EndOfProcess.hook());
    }

    @Test
    void hookIsRemovedWithTheLastStack() {
        EndOfProcess.add(stack);
        Thread hook = EndOfProcess.hook();
        assertNotNull(hook);
        group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        assertNull(EndOfProcess.hook());
        assertFalse(Runtime.getRuntime().removeShutdownHook(hook), "the hook is still registered");
    }
}
