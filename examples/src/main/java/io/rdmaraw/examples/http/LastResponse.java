package io.rdmaraw.examples.http;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpUtil;

import java.util.function.BooleanSupplier;

/**
 * Adds {@code Connection: close} to responses after another process has taken over the port, so that clients reconnect
 * to that process.
 */
final class LastResponse extends ChannelOutboundHandlerAdapter {
    private final BooleanSupplier draining;

    LastResponse(BooleanSupplier draining) {
        this.draining = draining;
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object msg, ChannelPromise promise) {
        if (msg instanceof HttpResponse response && draining.getAsBoolean()) {
            HttpUtil.setKeepAlive(response, false);
        }
        ctx.write(msg, promise);
    }
}
