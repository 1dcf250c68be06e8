package io.rdmaraw.examples.tcp;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.rdmaraw.examples.proxy.EndOfInput;
import io.rdmaraw.examples.server.ServerCommand;
import picocli.CommandLine.Command;

import java.net.InetSocketAddress;
import java.util.List;

/** Sends received data back (RFC 862 over TCP). */
@Command(name = "echo", mixinStandardHelpOptions = true, description = "TCP echo.")
public final class EchoServer extends ServerCommand {
    private static final int PORT = 7007;

    @Override
    protected int defaultPort() {
        return PORT;
    }

    @Override
    protected List<Channel> open(EventLoopGroup group, InetSocketAddress local) throws Exception {
        return List.of(listen(group, local, new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel connection) {
                // A client may shut down its output and continue to read. The remaining data must still be sent back.
                connection.config().setOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
                connection.pipeline().addLast(new Echo());
            }
        }));
    }

    private static final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ctx.write(msg, ctx.voidPromise());
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }

        /**
         * Stops reading from a client until it has received its echoes, so that it cannot exhaust the memory of the
         * server.
         */
        @Override
        public void channelWritabilityChanged(ChannelHandlerContext ctx) {
            ctx.channel().config().setAutoRead(ctx.channel().isWritable());
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
            EndOfInput.ifSeen(event, () -> EndOfInput.closeWhenSent(ctx.channel()));
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }
}
