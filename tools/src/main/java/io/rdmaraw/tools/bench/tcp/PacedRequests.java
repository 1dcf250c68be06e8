package io.rdmaraw.tools.bench.tcp;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.TimeUnit;

/**
 * Requests at a steady rate, taken by whatever connection has none under way. Those that are due while every connection
 * waits for its answer are never sent, so that the answers per second tell what a server no longer keeps up with. For
 * the loop's thread.
 */
final class PacedRequests {
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final StreamCounts counts;
    private final double requestsPerNano;
    private final Queue<Channel> idle = new ArrayDeque<>();
    private long beganNanos;
    private long due;
    private Future<?> ticking;

    PacedRequests(StreamCounts counts, int requestsPerSecond) {
        this.counts = counts;
        requestsPerNano = requestsPerSecond / 1e9;
    }

    ChannelInboundHandlerAdapter newHandler() {
        return new Answers();
    }

    /** Begins, on connections that have handlers of this. */
    void start(EventLoop loop, List<Channel> channels) {
        idle.addAll(channels);
        beganNanos = System.nanoTime();
        ticking = loop.scheduleAtFixedRate(this::tick, TICK_NANOS, TICK_NANOS, TimeUnit.NANOSECONDS);
    }

    void stop() {
        ticking.cancel(false);
    }

    private void tick() {
        long dueNow = (long) ((System.nanoTime() - beganNanos) * requestsPerNano);
        for (; due < dueNow && !idle.isEmpty(); due++) {
            Channel channel = idle.poll();
            channel.writeAndFlush(channel.alloc().directBuffer(StreamHandlers.REQUEST_BYTES)
                    .writeZero(StreamHandlers.REQUEST_BYTES), channel.voidPromise());
            channel.pipeline().get(Answers.class).sent();
        }
        due = dueNow;
    }

    private final class Answers extends ChannelInboundHandlerAdapter {
        private int missingBytes;
        private long sentNanos;

        void sent() {
            missingBytes = StreamHandlers.REQUEST_BYTES;
            sentNanos = System.nanoTime();
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ByteBuf data = (ByteBuf) msg;
            missingBytes -= data.readableBytes();
            data.release();
            if (missingBytes == 0) {
                counts.addRoundTrip(System.nanoTime() - sentNanos);
                idle.add(ctx.channel());
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }
}
