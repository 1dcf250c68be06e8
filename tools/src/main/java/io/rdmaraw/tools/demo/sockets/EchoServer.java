package io.rdmaraw.tools.demo.sockets;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import io.netty.channel.socket.DatagramPacket;
import io.netty.util.concurrent.EventExecutor;
import io.rdmaraw.channel.RdmaRawChannelOption;
import io.rdmaraw.channel.RdmaRawDatagramChannel;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.tools.run.Loops;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The server of the demo: echoes connections and datagrams on several loops. Each connection and each reply begins with
 * the number of the loop that serves it.
 */
final class EchoServer implements AutoCloseable {
    private final String device;
    private final Loops loops;
    private final Map<EventLoop, Integer> loopNumbers = new ConcurrentHashMap<>();

    /** Opens the server. Returns when its rules exist. */
    EchoServer(String device, int loopCount) throws InterruptedException {
        this.device = device;
        loops = new Loops(loopCount, DemoHost.SERVER.config(device));
        try {
            for (EventExecutor loop : loops.group()) {
                loopNumbers.put((EventLoop) loop, loopNumbers.size());
            }
            for (Family family : Family.values()) {
                listen(family);
            }
        } catch (InterruptedException | RuntimeException e) {
            loops.close();
            throw e;
        }
    }

    String device() {
        return device;
    }

    private void listen(Family family) throws InterruptedException {
        new ServerBootstrap().group(loops.group()).channel(RdmaRawServerSocketChannel.class)
                .childHandler(new ChannelInitializer<RdmaRawSocketChannel>() {
                    @Override
                    protected void initChannel(RdmaRawSocketChannel channel) {
                        channel.pipeline().addLast(new StreamEcho(loopNumbers.get(channel.eventLoop())));
                    }
                }).bind(DemoHost.SERVER.at(family)).sync();
        for (Map.Entry<EventLoop, Integer> loop : loopNumbers.entrySet()) {
            new Bootstrap().group(loop.getKey()).channel(RdmaRawDatagramChannel.class)
                    .option(RdmaRawChannelOption.SO_REUSEPORT, true).handler(new DatagramEcho(loop.getValue()))
                    .bind(DemoHost.SERVER.at(family)).sync();
        }
    }

    @Override
    public void close() {
        loops.close();
    }

    private static ByteBuf numberOf(int loop) {
        return Unpooled.buffer(1).writeByte(loop);
    }

    /** Echoes data no faster than the peer receives it. */
    private static final class StreamEcho extends ChannelInboundHandlerAdapter {
        private final int loop;

        StreamEcho(int loop) {
            this.loop = loop;
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            ctx.writeAndFlush(numberOf(loop));
        }

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
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            // The client reports the connection that ended early.
            ctx.close();
        }
    }

    private static final class DatagramEcho extends ChannelInboundHandlerAdapter {
        private final int loop;

        DatagramEcho(int loop) {
            this.loop = loop;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            DatagramPacket received = (DatagramPacket) msg;
            ByteBuf reply = Unpooled.wrappedBuffer(numberOf(loop), received.content());
            ctx.writeAndFlush(new DatagramPacket(reply, received.sender()));
        }
    }
}
