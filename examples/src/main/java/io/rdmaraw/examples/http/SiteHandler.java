package io.rdmaraw.examples.http;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;

/** Answers requests of all HTTP versions. All requests of one read share a flush. */
final class SiteHandler extends SimpleChannelInboundHandler<FullHttpRequest> {
    /** Name of the first request handler in the pipeline. */
    static final String FIRST = "site";

    /** Adds the handlers that answer decoded requests. */
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

    /** Stops reading from a client until it has received its responses. */
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
