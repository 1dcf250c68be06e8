package io.rdmaraw.tools.bench.tcp;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

/**
 * The end of a connection that asks, one request after the other: an answer is as long as its request and may come in
 * pieces. When to ask is the subclass's.
 */
abstract class AskingEnd extends ChannelInboundHandlerAdapter {
    /** Bytes of a request and of its answer. */
    static final int REQUEST_BYTES = 64;

    private int missingBytes;
    private long sentNanos;

    /** Writes a request without flushing it; the answer to the one before has come. */
    final void request(ChannelHandlerContext ctx) {
        missingBytes = REQUEST_BYTES;
        sentNanos = System.nanoTime();
        ctx.write(ctx.alloc().directBuffer(REQUEST_BYTES).writeZero(REQUEST_BYTES), ctx.voidPromise());
    }

    /** The answer has come as a whole, so long after the request was written. */
    abstract void answered(ChannelHandlerContext ctx, long nanos);

    @Override
    public final void channelRead(ChannelHandlerContext ctx, Object msg) {
        ByteBuf data = (ByteBuf) msg;
        missingBytes -= data.readableBytes();
        data.release();
        if (missingBytes == 0) {
            answered(ctx, System.nanoTime() - sentNanos);
        }
    }

    /** A peer that goes away by RST is how connections of a bench end. */
    @Override
    public final void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        ctx.close();
    }
}
