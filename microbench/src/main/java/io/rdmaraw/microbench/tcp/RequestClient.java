package io.rdmaraw.microbench.tcp;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

/**
 * The client end of a connection with at most one outstanding request. An answer has the length of its request and may
 * arrive in parts. Subclasses decide when to send.
 */
abstract class RequestClient extends ChannelInboundHandlerAdapter {
    /** Length of a request and of its answer. */
    static final int REQUEST_BYTES = 64;

    private int missingBytes;
    private long sentNanos;

    /** Writes a request without flushing it. The previous request must have been answered. */
    final void request(ChannelHandlerContext ctx) {
        missingBytes = REQUEST_BYTES;
        sentNanos = System.nanoTime();
        ctx.write(ctx.alloc().directBuffer(REQUEST_BYTES).writeZero(REQUEST_BYTES), ctx.voidPromise());
    }

    /**
     * Called when the answer is complete.
     *
     * @param nanos time since the request was written
     */
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

    /** The bench closes its connections by RST, so an exception is expected and needs no report. */
    @Override
    public final void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        ctx.close();
    }
}
