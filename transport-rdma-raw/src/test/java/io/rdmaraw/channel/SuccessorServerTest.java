package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/** A server is bound on one loop while its predecessor closes on another. The new server accepts all connections. */
@Timeout(120)
class SuccessorServerTest {
    private static final String SERVER = "10.12.0.1";
    private static final int LOOPS = 2;
    private static final int SUCCESSORS = 100;
    /** Enough that all of them will not arrive at one loop by chance. */
    private static final int CONNECTIONS = 8;

    private final LoopDevice device = LoopDevice.inMemory();
    private final StreamFixture fixture = new StreamFixture(host("02:00:00:0c:00:01", SERVER), LOOPS,
            host("02:00:00:0c:00:02", "10.12.0.2"), 1);
    private final List<EventLoop> loops = new ArrayList<>();
    private final Bye bye = new Bye();

    private RdmaRawIoHandlerConfig host(String mac, String address) {
        return StreamFixture.config(device.name).detectDuplicateAddresses(false)
                .userspaceAddress(mac, address + "/24", null)
                .build();
    }

    @AfterEach
    void shutDown() {
        fixture.close();
    }

    /**
     * Closes accepted connections, which shows the client that a server has accepted them. The first one stays open and
     * keeps the port.
     */
    @ChannelHandler.Sharable
    private static final class Bye extends ChannelInboundHandlerAdapter {
        private final AtomicBoolean hasOne = new AtomicBoolean();

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            if (hasOne.getAndSet(true)) {
                ctx.close();
            }
        }
    }

    private ChannelFuture bind(EventLoop loop, int port) throws InterruptedException {
        return new ServerBootstrap().group(loop, fixture.servers).channel(RdmaRawServerSocketChannel.class)
                .option(RdmaRawChannelOption.ACCEPT_GROUP, (RdmaRawEventLoopGroup) fixture.servers)
                .childHandler(bye).bind(new InetSocketAddress(InetAddress.ofLiteral(SERVER), port)).await();
    }

    @Test
    void newServerAcceptsAllConnections() throws Exception {
        fixture.servers.forEach(loop -> loops.add((EventLoop) loop));
        Channel server = bind(loops.getFirst(), 0).sync().channel();
        InetSocketAddress address = (InetSocketAddress) server.localAddress();
        RdmaRawSocketChannel kept = fixture.connect(address, new ChannelInboundHandlerAdapter());
        Patience.until(bye.hasOne::get, "the first connection");
        for (int i = 1; i <= SUCCESSORS; i++) {
            server.close();
            server = successor(loops.get(i % LOOPS), address.getPort());
            List<ChannelFuture> clients = new ArrayList<>();
            for (int c = 0; c < CONNECTIONS; c++) {
                clients.add(fixture.client(new ChannelInboundHandlerAdapter()).option(ChannelOption.SO_LINGER, 0)
                        .connect(address));
            }
            for (ChannelFuture client : clients) {
                client.sync().channel().closeFuture().sync();
            }
        }
        assertTrue(kept.isActive());
    }

    /** Binds a server as soon as the port is free. */
    private Channel successor(EventLoop loop, int port) throws Exception {
        while (true) {
            ChannelFuture bound = bind(loop, port);
            if (bound.isSuccess()) {
                return bound.channel();
            }
            if (!(bound.cause() instanceof BindException)) {
                throw new AssertionError(bound.cause());
            }
        }
    }
}
