package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.ConnectTimeoutException;
import io.netty.channel.EventLoopGroup;
import io.rdmaraw.host.PortTable;
import io.rdmaraw.host.loopback.LoopbackHost;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.wire.IpProtocol;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A failed attempt to connect closes the channel without a {@code Bootstrap}, which would close it too. */
@Timeout(60)
class StreamConnectorTest {
    private final LoopDevice device = LoopDevice.inMemory();
    private final RdmaRawIoHandlerConfig config = RdmaRawIoHandlerConfig.builder().device(device.name).build();
    private final EventLoopGroup servers = new RdmaRawEventLoopGroup(1, config);
    private final EventLoopGroup clients = new RdmaRawEventLoopGroup(1, config);
    private final CountDownLatch silence = new CountDownLatch(1);
    private final RdmaRawSocketChannel channel = new RdmaRawSocketChannel();
    private InetSocketAddress silent;

    /** Binds a server and blocks its loop. */
    @BeforeEach
    void listen() throws InterruptedException {
        Channel server = new ServerBootstrap().group(servers).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new ChannelInboundHandlerAdapter())
                .bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0)).sync().channel();
        silent = (InetSocketAddress) server.localAddress();
        StreamFixture.silence(server.eventLoop(), silence);
        clients.register(channel).sync();
    }

    @AfterEach
    void shutDown() {
        silence.countDown();
        clients.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        servers.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    private boolean isFree(int port) {
        try {
            PortTable ports = LoopbackHost.of(device.name).ports();
            ports.unbind(ports.bind(IpProtocol.TCP, LoopbackHost.newMac(), IpAddress.LOOPBACK_IPV4, false, port,
                    PortSharing.NONE, null));
            return true;
        } catch (BindException e) {
            return false;
        }
    }

    private void assertEnds(int port) throws InterruptedException {
        assertTrue(channel.closeFuture().await(Patience.SECONDS, TimeUnit.SECONDS), "the channel is open still");
        assertFalse(channel.isOpen() || channel.isActive());
        while (!isFree(port)) {
            // The loop releases the port in one of its next turns. Ends with the timeout of the test.
            clients.next().submit(() -> { }).sync();
        }
    }

    @Test
    void aTimeoutClosesTheChannel() throws InterruptedException {
        channel.config().setConnectTimeoutMillis(500);
        ChannelFuture[] attempt = new ChannelFuture[1];
        // Within one task, so that the timeout cannot expire before the check.
        int port = StreamFixture.on(channel.eventLoop(), () -> {
            attempt[0] = channel.connect(silent);
            int used = channel.localAddress().getPort();
            assertFalse(isFree(used), "the attempt has a port");
            return used;
        });
        ChannelFuture connecting = attempt[0];
        assertInstanceOf(ConnectTimeoutException.class, connecting.await().cause());
        assertEnds(port);
    }

    @Test
    void aCancelledAttemptClosesTheChannel() throws InterruptedException {
        ChannelPromise promise = channel.newPromise();
        channel.connect(silent, promise);
        channel.eventLoop().submit(() -> { }).sync();
        int port = channel.localAddress().getPort();
        assertFalse(isFree(port), "the attempt has a port");
        assertTrue(promise.cancel(true));
        assertEnds(port);
    }
}
