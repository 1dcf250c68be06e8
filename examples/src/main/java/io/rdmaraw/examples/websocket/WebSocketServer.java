package io.rdmaraw.examples.websocket;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolConfig;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolHandler;
import io.netty.handler.codec.http.websocketx.extensions.compression.WebSocketServerCompressionHandler;
import io.rdmaraw.examples.server.ServerCommand;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.net.InetSocketAddress;
import java.util.List;

/** Sends each text or binary frame back unchanged. Netty implements the protocol and its compression. */
@Command(name = "websocket", mixinStandardHelpOptions = true,
        description = "WebSocket server that sends back what it gets.")
public final class WebSocketServer extends ServerCommand {
    /** The longest message of the Autobahn test suite. */
    private static final int MAX_FRAME_BYTES = 16 << 20;
    private static final int MAX_HANDSHAKE_BYTES = 1 << 16;
    private static final int PORT = 8080;

    @Option(names = "--compression", description = "permessage-deflate, for clients that ask for it")
    private boolean compression;

    @Override
    protected int defaultPort() {
        return PORT;
    }

    @Override
    protected List<Channel> open(EventLoopGroup group, InetSocketAddress local) throws Exception {
        WebSocketServerProtocolConfig config = WebSocketServerProtocolConfig.newBuilder().websocketPath("/")
                .checkStartsWith(true).allowExtensions(compression).maxFramePayloadLength(MAX_FRAME_BYTES)
                // Otherwise, a close frame with the status of a normal end would precede the decoder's status of a
                // violation.
                .sendCloseFrame(null).build();
        return List.of(listen(group, local, new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel connection) {
                connection.pipeline().addLast(new HttpServerCodec(), new HttpObjectAggregator(MAX_HANDSHAKE_BYTES));
                if (compression) {
                    connection.pipeline().addLast(new WebSocketServerCompressionHandler(MAX_FRAME_BYTES));
                }
                connection.pipeline().addLast(new WebSocketServerProtocolHandler(config), new Echo());
            }
        }));
    }

    private static final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object frame) {
            ctx.write(frame);
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }

        /** Stops reading from a client until it has received the returned frames. */
        @Override
        public void channelWritabilityChanged(ChannelHandlerContext ctx) {
            ctx.channel().config().setAutoRead(ctx.channel().isWritable());
            ctx.fireChannelWritabilityChanged();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }
}
