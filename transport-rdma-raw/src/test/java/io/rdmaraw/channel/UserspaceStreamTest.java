package io.rdmaraw.channel;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.IoEventLoopGroup;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.BindException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** Connections between two userspace hosts on one link, on any device that loops frames back. */
@Timeout(120)
class UserspaceStreamTest {
    private static final int BYTES = 4 << 20;
    private static final int WRITE_BYTES = 30_000;
    private static final long SEED = 42;

    private final LoopDevice device = new LoopDevice();
    private final BlockingQueue<RdmaRawSocketChannel> accepted = new LinkedBlockingQueue<>();
    private final IoEventLoopGroup servers = group("02:00:00:0a:00:01", "10.10.0.1/24", "fd10::1/64");
    private final IoEventLoopGroup clients = group("02:00:00:0a:00:02", "10.10.0.2/24", "fd10::2/64");

    private IoEventLoopGroup group(String mac, String... addresses) {
        RdmaRawIoHandlerConfig.Builder config = RdmaRawIoHandlerConfig.builder().device(device.name)
                .detectDuplicateAddresses(false).receiveQueueDepth(512).sendQueueDepth(512).slotCount(4096);
        for (String address : addresses) {
            config.userspaceAddress(mac, address, null);
        }
        return new RdmaRawEventLoopGroup(1, config.build());
    }

    @AfterEach
    void shutDown() {
        clients.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
        servers.shutdownGracefully(0, 10, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** Echoes data no faster than the peer receives it, and closes after the peer's FIN. */
    private static final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ctx.write(msg);
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
            ctx.channel().config().setAutoRead(ctx.channel().isWritable());
        }

        @Override
        public void channelWritabilityChanged(ChannelHandlerContext ctx) {
            ctx.channel().config().setAutoRead(ctx.channel().isWritable());
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
            if (event instanceof ChannelInputShutdownEvent) {
                ctx.writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(ChannelFutureListener.CLOSE);
            }
        }
    }

    /** Sends as long as the channel is writable, ends its output, and compares the echo. */
    private static final class Client extends ChannelInboundHandlerAdapter {
        private final CompletableFuture<Void> begun = new CompletableFuture<>();
        private final CompletableFuture<Integer> done = new CompletableFuture<>();
        private final Random sending = new Random(SEED);
        private final Random expected = new Random(SEED);
        private int sent;
        private int received;

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            send(ctx);
        }

        @Override
        public void channelWritabilityChanged(ChannelHandlerContext ctx) {
            send(ctx);
        }

        private void send(ChannelHandlerContext ctx) {
            while (ctx.channel().isWritable() && sent < BYTES) {
                int length = Math.min(BYTES - sent, WRITE_BYTES);
                ByteBuf content = ctx.alloc().directBuffer(length);
                for (int i = 0; i < length; i++) {
                    content.writeByte(sending.nextInt());
                }
                sent += length;
                ChannelFuture written = ctx.writeAndFlush(content);
                if (sent == BYTES) {
                    // As in Netty's other transports, {@code shutdownOutput} drops data that the send buffer has not
                    // taken.
                    written.addListener(taken -> ((RdmaRawSocketChannel) ctx.channel()).shutdownOutput());
                }
            }
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            begun.complete(null);
            ByteBuf content = (ByteBuf) msg;
            while (content.isReadable() && !done.isDone()) {
                if (content.readByte() != (byte) expected.nextInt()) {
                    done.completeExceptionally(new AssertionError("byte " + received + " is not the one sent"));
                }
                received++;
            }
            content.release();
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            done.complete(received);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            done.completeExceptionally(cause);
        }
    }

    private Channel serve(String address) throws InterruptedException {
        return serve(address, 0);
    }

    private Channel serve(String address, int port) throws InterruptedException {
        return new ServerBootstrap().group(servers).channel(RdmaRawServerSocketChannel.class)
                .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel child) {
                        accepted.add((RdmaRawSocketChannel) child);
                        child.pipeline().addLast(new Echo());
                    }
                }).bind(new InetSocketAddress(address, port)).sync().channel();
    }

    /** Open connections of an earlier server keep its rule, but not the port. */
    @ParameterizedTest
    @ValueSource(strings = {"10.10.0.1", "fd10::1"})
    void aServerListensAgainBesideOpenConnections(String address) throws Exception {
        Client[] connections = new Client[3];
        int port = 0;
        for (int i = 0; i < connections.length; i++) {
            Channel server = serve(address, port);
            port = ((InetSocketAddress) server.localAddress()).getPort();
            connections[i] = new Client();
            new Bootstrap().group(clients).channel(RdmaRawSocketChannel.class)
                    .option(ChannelOption.ALLOW_HALF_CLOSURE, false).handler(connections[i])
                    .connect(server.localAddress()).sync();
            // A server that closes resets connections it has not accepted.
            connections[i].begun.get(100, TimeUnit.SECONDS);
            server.close().sync();
        }
        Channel last = serve(address, port);
        Throwable cause = new ServerBootstrap().group(servers).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new Echo()).bind(last.localAddress()).await().cause();
        assertInstanceOf(BindException.class, cause);
        assertTrue(cause.getMessage().startsWith("Address already in use: "), cause.toString());
        for (Client connection : connections) {
            assertEquals(BYTES, connection.done.get(100, TimeUnit.SECONDS));
        }
    }

    private static int rulesOf(RdmaRawSocketChannel connection) throws InterruptedException {
        return connection.eventLoop().submit(() ->
                connection.tcpStack().deviceQueue().statistics().ruleCount).sync().getNow();
    }

    /** Adding a rule is a command to the device, which blocks the loop. */
    @Test
    void openedConnectionAddsOneRuleAndAcceptedOneNone() throws Exception {
        Channel server = serve("10.10.0.1");
        int rulesOfServer = 0;
        int rulesOfClient = 0;
        for (int connections = 1; connections <= 10; connections++) {
            RdmaRawSocketChannel opened = (RdmaRawSocketChannel) new Bootstrap().group(clients)
                    .channel(RdmaRawSocketChannel.class).handler(new ChannelInboundHandlerAdapter())
                    .connect(server.localAddress()).sync().channel();
            RdmaRawSocketChannel child = accepted.poll(100, TimeUnit.SECONDS);
            if (connections == 1) {
                rulesOfServer = rulesOf(child);
                rulesOfClient = rulesOf(opened) - 1;
            }
            assertEquals(rulesOfServer, rulesOf(child));
            assertEquals(rulesOfClient + connections, rulesOf(opened));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"10.10.0.1", "fd10::1"})
    void dataIsEchoedAndBothEndsClose(String address) throws Exception {
        Channel server = serve(address);
        Client client = new Client();
        Channel connection = new Bootstrap().group(clients).channel(RdmaRawSocketChannel.class)
                .option(ChannelOption.ALLOW_HALF_CLOSURE, false).handler(client)
                .connect(server.localAddress()).sync().channel();
        assertEquals(BYTES, client.done.get(100, TimeUnit.SECONDS));
        connection.closeFuture().sync();
    }

    @ParameterizedTest
    @ValueSource(strings = {"10.10.0.1", "fd10::1"})
    void connectionToUnboundPortIsRefused(String address) throws Exception {
        serve(address);
        Throwable cause = new Bootstrap().group(clients).channel(RdmaRawSocketChannel.class)
                .handler(new ChannelInboundHandlerAdapter()).connect(address, 9).await().cause();
        assertInstanceOf(ConnectException.class, cause);
        assertTrue(cause.getMessage().startsWith("Connection refused"), cause.toString());
    }
}
