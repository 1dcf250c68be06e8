package io.rdmaraw.examples.http;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioDatagramChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http3.Http3;
import io.netty.handler.codec.http3.Http3ClientConnectionHandler;
import io.netty.handler.codec.http3.Http3FrameToHttpObjectCodec;
import io.netty.handler.codec.quic.QuicChannel;
import io.netty.handler.codec.quic.QuicSslContextBuilder;
import io.netty.handler.codec.quic.QuicStreamChannel;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** An HTTP/3 connection over a kernel socket. The socket belongs to the namespace of the thread that creates it. */
final class Http3TestClient implements AutoCloseable {
    private static final long WINDOW_BYTES = 1 << 22;

    /** The status and content of a response. */
    record Response(int status, byte[] content) {
    }

    private final EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final InetSocketAddress server;
    private final QuicChannel connection;

    Http3TestClient(InetSocketAddress server) throws Exception {
        this.server = server;
        Channel udp = new Bootstrap().group(group).channel(NioDatagramChannel.class)
                .handler(Http3.newQuicClientCodecBuilder()
                        .sslContext(QuicSslContextBuilder.forClient()
                                .trustManager(InsecureTrustManagerFactory.INSTANCE)
                                .applicationProtocols(Http3.supportedApplicationProtocols()).build())
                        .maxIdleTimeout(30, TimeUnit.SECONDS).initialMaxData(WINDOW_BYTES)
                        .initialMaxStreamDataBidirectionalLocal(WINDOW_BYTES).build())
                .bind(0).sync().channel();
        connection = QuicChannel.newBootstrap(udp).handler(new Http3ClientConnectionHandler())
                .remoteAddress(server).connect().get(30, TimeUnit.SECONDS);
    }

    CompletableFuture<Response> send(HttpMethod method, String path, byte[] content) throws Exception {
        CompletableFuture<Response> result = new CompletableFuture<>();
        QuicStreamChannel stream = Http3.newRequestStream(connection, new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(new Http3FrameToHttpObjectCodec(false),
                        new HttpObjectAggregator(1 << 24), new Reader(result), new EndWatch(result));
            }
        }).get(30, TimeUnit.SECONDS);
        FullHttpRequest request = new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, method, path,
                Unpooled.wrappedBuffer(content));
        request.headers().set(HttpHeaderNames.HOST, server.getHostString());
        stream.writeAndFlush(request);
        return result;
    }

    private static final class Reader extends SimpleChannelInboundHandler<FullHttpResponse> {
        private final CompletableFuture<Response> result;

        Reader(CompletableFuture<Response> result) {
            this.result = result;
        }

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, FullHttpResponse response) {
            result.complete(new Response(response.status().code(), ByteBufUtil.getBytes(response.content())));
        }
    }

    private static final class EndWatch extends ChannelInboundHandlerAdapter {
        private final CompletableFuture<Response> result;

        EndWatch(CompletableFuture<Response> result) {
            this.result = result;
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            result.completeExceptionally(cause);
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            result.completeExceptionally(new IOException("the stream ended without a response"));
        }
    }

    @Override
    public void close() {
        connection.close().syncUninterruptibly();
        group.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }
}
