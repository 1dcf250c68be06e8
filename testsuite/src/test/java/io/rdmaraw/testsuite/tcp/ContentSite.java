package io.rdmaraw.testsuite.tcp;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerExpectContinueHandler;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.CharsetUtil;

import java.nio.CharBuffer;
import java.security.MessageDigest;

/**
 * An HTTP server. {@code GET /N} returns N bytes of a {@link BulkContent}; {@code PUT} returns the digest of the
 * body.
 */
final class ContentSite extends ChannelInitializer<SocketChannel> {
    private static final int CHUNK_BYTES = 32_768;

    private final BulkContent content;

    ContentSite(BulkContent content) {
        this.content = content;
    }

    @Override
    protected void initChannel(SocketChannel connection) {
        connection.pipeline().addLast(new HttpServerCodec(), new HttpServerExpectContinueHandler(), new Exchange());
    }

    private final class Exchange extends SimpleChannelInboundHandler<HttpObject> {
        private MessageDigest digest;
        private long sentBytes;
        private long bytes;

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, HttpObject part) {
            if (part instanceof HttpRequest request) {
                if (request.method().equals(HttpMethod.GET)) {
                    answer(ctx, Long.parseLong(request.uri().substring(1)));
                } else {
                    digest = BulkContent.newDigest();
                }
            }
            if (part instanceof HttpContent received && digest != null) {
                BulkContent.update(digest, received.content());
                if (part instanceof LastHttpContent) {
                    ByteBuf text = ByteBufUtil.encodeString(ctx.alloc(),
                            CharBuffer.wrap(BulkContent.text(digest)), CharsetUtil.US_ASCII);
                    digest = null;
                    HttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK,
                            text);
                    response.headers().set(HttpHeaderNames.CONTENT_LENGTH, text.readableBytes());
                    ctx.writeAndFlush(response);
                }
            }
        }

        private void answer(ChannelHandlerContext ctx, long contentBytes) {
            HttpResponse response = new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK);
            response.headers().set(HttpHeaderNames.CONTENT_LENGTH, contentBytes);
            ctx.write(response);
            sentBytes = 0;
            bytes = contentBytes;
            send(ctx);
        }

        @Override
        public void channelWritabilityChanged(ChannelHandlerContext ctx) {
            // Sends in a new task, because this event may be caused by a write in {@code send}.
            ctx.executor().execute(() -> send(ctx));
        }

        private void send(ChannelHandlerContext ctx) {
            while (sentBytes < bytes && ctx.channel().isWritable()) {
                ByteBuf chunk = ctx.alloc().directBuffer(CHUNK_BYTES);
                sentBytes += content.write(sentBytes, chunk, Math.min(CHUNK_BYTES, bytes - sentBytes));
                ctx.write(new DefaultHttpContent(chunk));
                if (sentBytes == bytes) {
                    ctx.write(LastHttpContent.EMPTY_LAST_CONTENT);
                }
            }
            ctx.flush();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }
}
