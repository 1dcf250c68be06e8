package io.rdmaraw.testsuite.tcp;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoopGroup;
import io.netty.util.CharsetUtil;
import io.rdmaraw.channel.RdmaRawChannelOption;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.metrics.RdmaRawQueueStatistics;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

/** Echo servers and clients of this transport, and kernel sockets as their peers. */
final class TcpHost {
    private TcpHost() {
    }

    /** Echoes received data and collects its channels. */
    @ChannelHandler.Sharable
    static final class Echo extends ChannelInboundHandlerAdapter {
        final BlockingQueue<Channel> channels = new LinkedBlockingQueue<>();

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            channels.add(ctx.channel());
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ctx.write(msg, ctx.voidPromise());
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }

    /** Collects received data and exceptions. */
    static final class Client extends ChannelInboundHandlerAdapter {
        final BlockingQueue<String> texts = new LinkedBlockingQueue<>();
        final BlockingQueue<Throwable> errors = new LinkedBlockingQueue<>();

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            texts.add(((ByteBuf) msg).toString(CharsetUtil.US_ASCII));
            ((ByteBuf) msg).release();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            errors.add(cause);
        }

        void await(String expected) throws InterruptedException {
            StringBuilder received = new StringBuilder();
            while (received.length() < expected.length()) {
                String next = texts.poll(Await.PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
                assertNotNull(next, "only " + received.length() + " of " + expected.length() + " bytes came");
                received.append(next);
            }
            assertEquals(expected, received.toString());
        }
    }

    static RdmaRawServerSocketChannel listen(EventLoopGroup boss, EventLoopGroup workers, InetSocketAddress local,
                                             ChannelHandler handler) throws InterruptedException {
        ServerBootstrap bootstrap = new ServerBootstrap().group(boss, workers)
                .channel(RdmaRawServerSocketChannel.class).childHandler(handler);
        if (boss != workers && workers instanceof RdmaRawEventLoopGroup ours) {
            bootstrap.option(RdmaRawChannelOption.ACCEPT_GROUP, ours);
        }
        return (RdmaRawServerSocketChannel) bootstrap.bind(local).sync().channel();
    }

    static RdmaRawSocketChannel connect(EventLoopGroup group, InetSocketAddress remote, ChannelHandler handler)
            throws InterruptedException {
        return (RdmaRawSocketChannel) new Bootstrap().group(group).channel(RdmaRawSocketChannel.class).handler(handler)
                .connect(remote).sync().channel();
    }

    static InetSocketAddress address(String host, int port) {
        return new InetSocketAddress(InetAddress.ofLiteral(host), port);
    }

    /** Returns a connected kernel socket. */
    static Socket socket(NetworkNamespace namespace, String host, int port) throws Exception {
        return namespace.call(() -> {
            Socket socket = new Socket();
            socket.setSoTimeout(Await.PATIENCE_MILLIS);
            socket.connect(address(host, port), Await.PATIENCE_MILLIS);
            return socket;
        });
    }

    /** Sends a text to an echo server and checks the response. */
    static void exchange(Socket socket, String text) throws IOException {
        socket.getOutputStream().write(text.getBytes(CharsetUtil.US_ASCII));
        assertEquals(text, new String(socket.getInputStream().readNBytes(text.length()), CharsetUtil.US_ASCII));
    }

    /** Starts an echo server on kernel sockets that serves one connection at a time. */
    static ServerSocket echoServer(NetworkNamespace namespace, String host) throws Exception {
        ServerSocket server = namespace.call(() -> new ServerSocket(0, 50, InetAddress.ofLiteral(host)));
        Thread.ofPlatform().daemon().start(() -> {
            while (!server.isClosed()) {
                try (Socket socket = server.accept(); InputStream in = socket.getInputStream()) {
                    in.transferTo(socket.getOutputStream());
                } catch (IOException e) {
                    // The client has closed or the test has ended.
                }
            }
        });
        return server;
    }

    /** Returns the sum of a TCP metric over all stacks on a device. */
    static long tcp(String device, String name) {
        return counted(device, "tcp", name);
    }

    /** Returns the sum of a metric over all channels with this label on a device. */
    static long counted(String device, String label, String name) {
        return RdmaRawMetrics.loops().stream().flatMap(loop -> loop.queues().stream())
                .filter(queue -> queue.deviceName().equals(device)).mapToLong(queue -> counted(queue, label, name))
                .sum();
    }

    /** Returns a metric of the device as a whole, which each of its ports reports with the same value. */
    static long ofDevice(String device, String name) {
        return RdmaRawMetrics.loops().stream().flatMap(loop -> loop.queues().stream())
                .filter(queue -> queue.deviceName().equals(device))
                .mapToLong(queue -> queue.value(queue.metrics().stream().filter(each -> each.name().equals(name))
                        .findFirst().orElseThrow()))
                .max().orElseThrow();
    }

    private static long counted(RdmaRawQueueStatistics queue, String label, String name) {
        RdmaRawMetered channel = queue.channels().get(label);
        if (channel == null) {
            return 0;
        }
        RdmaRawMetric metric = channel.metrics().stream().filter(each -> each.name().equals(name)).findFirst()
                .orElseThrow();
        return channel.value(metric);
    }
}
