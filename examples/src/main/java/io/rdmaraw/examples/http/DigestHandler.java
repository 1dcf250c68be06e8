package io.rdmaraw.examples.http;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/**
 * Computes the digest of the content posted to {@code /sha256} while it is received, so that uploads of any length need
 * no memory. Other requests are passed on.
 */
final class DigestHandler extends ChannelInboundHandlerAdapter {
    private static final String PATH = "/sha256";

    /** Digest of the request that is being received, or null. */
    private MessageDigest digest;

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
        if (msg instanceof HttpRequest request && request.uri().equals(PATH)
                && request.method().equals(HttpMethod.POST)) {
            digest = sha256();
            if (HttpUtil.is100ContinueExpected(request)) {
                ctx.writeAndFlush(new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.CONTINUE,
                        ctx.alloc().buffer(0)));
            }
        }
        if (digest == null) {
            ctx.fireChannelRead(msg);
            return;
        }
        try {
            if (msg instanceof HttpContent content) {
                update(content.content());
            }
            if (msg instanceof LastHttpContent) {
                ctx.write(Site.digest(HexFormat.of().formatHex(digest.digest())));
                digest = null;
            }
        } finally {
            ReferenceCountUtil.release(msg);
        }
    }

    private void update(ByteBuf content) {
        for (ByteBuffer part : content.nioBuffers()) {
            digest.update(part);
        }
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("each Java platform has SHA-256", e);
        }
    }
}
