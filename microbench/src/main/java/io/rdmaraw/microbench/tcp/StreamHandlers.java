package io.rdmaraw.microbench.tcp;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

/** The handlers of both ends of a measured connection. All transports use the same ones. */
final class StreamHandlers {
    /**
     * User event that starts the requests. It is fired after all connections are open, so that requests do not delay
     * connecting.
     */
    static final Object START = new Object();
    /** Number of bytes per write of a bulk sender, which is the maximum size of a TLS record. */
    private static final int CHUNK_BYTES = 16 * 1024;

    private StreamHandlers() {
    }

    /**
     * A handler that closes the channel without a report after an exception, because the bench closes its connections
     * by RST.
     */
    private abstract static class Quiet extends ChannelInboundHandlerAdapter {
        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }

    /** Sends all received data back. */
    @Sharable
    static final class Echo extends Quiet {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ctx.write(msg, ctx.voidPromise());
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }
    }

    /** Counts the received bytes and discards them. */
    @Sharable
    static final class Sink extends Quiet {
        private final StreamCounts counts;

        Sink(StreamCounts counts) {
            this.counts = counts;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ByteBuf data = (ByteBuf) msg;
            counts.addBytes(data.readableBytes());
            data.release();
        }
    }

    /** Sends data whenever the channel is writable. */
    @Sharable
    static final class Source extends Quiet {
        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            fill(ctx);
        }

        @Override
        public void channelWritabilityChanged(ChannelHandlerContext ctx) {
            fill(ctx);
        }

        private static void fill(ChannelHandlerContext ctx) {
            boolean written = false;
            while (ctx.channel().isWritable()) {
                ctx.write(ctx.alloc().directBuffer(CHUNK_BYTES).writerIndex(CHUNK_BYTES), ctx.voidPromise());
                written = true;
            }
            if (written) {
                ctx.flush();
            }
        }
    }

    /** Sends a request on {@link #START}, and another one after each answer. */
    static final class Requests extends RequestClient {
        private final StreamCounts counts;

        Requests(StreamCounts counts) {
            this.counts = counts;
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
            if (event == START) {
                request(ctx);
                ctx.flush();
            }
        }

        @Override
        void answered(ChannelHandlerContext ctx, long nanos) {
            counts.addRoundTrip(nanos);
            request(ctx);
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }
    }
}
