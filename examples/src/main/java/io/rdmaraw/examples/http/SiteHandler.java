package io.rdmaraw.examples.http;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;

/** Answers requests of any version of HTTP, with one flush for all requests that were read together. */
final class SiteHandler extends SimpleChannelInboundHandler<FullHttpRequest> {
    /** The name in a pipeline of the first of the handlers that answer requests. */
    static final String FIRST = "site";

    /** Adds what answers decoded requests. */
    static void addTo(ChannelPipeline pipeline) {
        pipeline.addLast(FIRST, new DigestHandler());
        pipeline.addLast(new HttpObjectAggregator(Site.MAX_REQUEST_BYTES), new SiteHandler());
    }

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, FullHttpRequest request) {
        FullHttpResponse response = Site.respond(request, ctx.alloc());
        if (request.method().equals(HttpMethod.HEAD)) {
            response.content().clear();
        }
        ctx.write(response);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.flush();
    }

    /** Stops reading from a client until it has read its responses. */
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
