package io.rdmaraw.channel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.BindException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A port is free as soon as the close of its server or datagram channel completes, even if connections of that server
 * are still open.
 */
@Timeout(60)
class BindAgainTest {
    private static final int TIMES = 20;

    private final LoopDevice device = LoopDevice.inMemory();
    private final EventLoopGroup first = group(2);
    private final EventLoopGroup second = group(2);
    private final EventLoopGroup clients = group(1);

    private EventLoopGroup group(int loops) {
        return new RdmaRawEventLoopGroup(loops, StreamFixture.config(device.name).build());
    }

    @AfterEach
    void shutDown() {
        List.of(clients, first, second)
                .forEach(group -> group.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly());
    }

    /** Answers each message with the name of the server that accepted the connection. */
    private static final class Named extends SimpleChannelInboundHandler<ByteBuf> {
        private final String name;

        Named(String name) {
            this.name = name;
        }

        @Override
        public boolean isSharable() {
            return true;
        }

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf msg) {
            ctx.writeAndFlush(Unpooled.copiedBuffer(name, StandardCharsets.UTF_8));
        }
    }

    private static final class Asking extends SimpleChannelInboundHandler<ByteBuf> {
        private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf msg) {
            answers.add(msg.toString(StandardCharsets.UTF_8));
        }
    }

    private static Channel serve(EventLoopGroup group, String host, int port, String name)
            throws InterruptedException {
        return new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new Named(name)).bind(new InetSocketAddress(host, port)).sync().channel();
    }

    private Channel connect(int port) throws InterruptedException {
        return new Bootstrap().group(clients).channel(RdmaRawSocketChannel.class).handler(new Asking())
                .connect("127.0.0.1", port).sync().channel();
    }

    private static String ask(Channel client) throws InterruptedException {
        client.writeAndFlush(Unpooled.copiedBuffer("?", StandardCharsets.UTF_8)).sync();
        return client.pipeline().get(Asking.class).answers.poll(Patience.SECONDS, TimeUnit.SECONDS);
    }

    private void serveInTurns(EventLoopGroup other, String host) throws InterruptedException {
        List<Channel> connections = new ArrayList<>();
        Channel server = serve(first, host, 0, "server 0");
        int port = ((InetSocketAddress) server.localAddress()).getPort();
        for (int i = 0; i < TIMES; i++) {
            connections.add(connect(port));
            assertEquals("server " + i, ask(connections.getLast()));
            server.close().sync();
            server = serve(i % 2 == 0 ? other : first, host, port, "server " + (i + 1));
        }
        for (int i = 0; i < TIMES; i++) {
            assertEquals("server " + i, ask(connections.get(i)), "a connection of an earlier server lives on");
            connections.get(i).close().sync();
        }
        assertEquals("server " + TIMES, ask(connect(port)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "0.0.0.0", "::"})
    void portIsFreeBesideOpenConnectionsOnSameLoops(String host) throws InterruptedException {
        serveInTurns(first, host);
    }

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "0.0.0.0", "::"})
    void portIsFreeBesideOpenConnectionsOnOtherLoops(String host) throws InterruptedException {
        serveInTurns(second, host);
    }

    /** The server closes first, so its ends of the connections are in TIME-WAIT when the port is bound again. */
    @Test
    void portIsFreeBesideConnectionsInTimeWait() throws InterruptedException {
        int port = 0;
        for (int i = 0; i < TIMES; i++) {
            Channel server = new ServerBootstrap().group(first).channel(RdmaRawServerSocketChannel.class)
                    .childHandler(new ChannelInboundHandlerAdapter() {
                        @Override
                        public void channelActive(ChannelHandlerContext ctx) {
                            ctx.close();
                        }
                    }).bind("127.0.0.1", port).sync().channel();
            port = ((InetSocketAddress) server.localAddress()).getPort();
            connect(port).closeFuture().sync();
            server.close().sync();
        }
    }

    /**
     * Only the listening server keeps the port in use. Connections that an earlier server left on other loops do not.
     */
    @Test
    void portWithListeningServerIsInUse() throws InterruptedException {
        Channel before = serve(first, "127.0.0.1", 0, "before");
        int port = ((InetSocketAddress) before.localAddress()).getPort();
        Channel kept = connect(port);
        assertEquals("before", ask(kept));
        before.close().sync();
        serve(second, "127.0.0.1", port, "after");
        for (EventLoopGroup group : List.of(first, second)) {
            Throwable cause = new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                    .childHandler(new Named("too much")).bind("127.0.0.1", port).await().cause();
            assertEquals("Address already in use: 127.0.0.1 port " + port,
                    assertInstanceOf(BindException.class, cause).getMessage());
        }
        // A client cannot use a local port on which a server listens.
        Throwable cause = new Bootstrap().group(clients).channel(RdmaRawSocketChannel.class).handler(new Asking())
                .connect(new InetSocketAddress("127.0.0.1", port), new InetSocketAddress("127.0.0.1", port))
                .await().cause();
        assertTrue(cause.getMessage().startsWith("Address already in use: 127.0.0.1 port " + port), cause.toString());
        assertEquals("before", ask(kept));
    }

    @Test
    void datagramPortIsFreeOnSameLoopAndOnOthers() throws InterruptedException {
        int port = 0;
        for (int i = 0; i < TIMES; i++) {
            Channel channel = new Bootstrap().group(i % 2 == 0 ? first : second)
                    .channel(RdmaRawDatagramChannel.class).handler(new ChannelInboundHandlerAdapter())
                    .bind("127.0.0.1", port).sync().channel();
            port = ((InetSocketAddress) channel.localAddress()).getPort();
            channel.close().sync();
        }
    }
}
