package io.rdmaraw.tools.bench.tcp;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

/** What the ends of a measured connection do; the same on every transport. */
final class StreamHandlers {
    /** Connections that are being opened must not wait for those that ask already. */
    static final Object START = new Object();
    /** What a bulk sender writes at once: as much as a TLS record holds. */
    private static final int CHUNK_BYTES = 16 * 1024;

    private StreamHandlers() {
    }

    /** A peer that goes away by RST is how connections of a bench end. */
    private abstract static class Quiet extends ChannelInboundHandlerAdapter {
        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }

    /** Sends everything back. */
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

    /** Counts what comes and drops it. */
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

    /** Sends as much as the channel takes. */
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

    /** Sends a request when told to {@link #START}, and another one for each answer. */
    static final class Requests extends AskingEnd {
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
