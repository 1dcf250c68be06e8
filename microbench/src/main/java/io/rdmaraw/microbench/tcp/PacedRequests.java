package io.rdmaraw.microbench.tcp;

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
 * Sends requests at a constant rate, each on any connection without an outstanding request. If a request is due and all
 * connections wait for an answer, the request is dropped. The rate of answers therefore drops when the server cannot
 * keep up. Used by the thread of the event loop.
 */
final class PacedRequests {
    private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final StreamCounts counts;
    private final double requestsPerNano;
    private final Queue<ChannelHandlerContext> idle = new ArrayDeque<>();
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

    /** Starts to send on connections that have a handler of {@link #newHandler}. */
    void start(EventLoop loop, List<Channel> channels) {
        channels.forEach(channel -> idle.add(channel.pipeline().context(Answers.class)));
        beganNanos = System.nanoTime();
        ticking = loop.scheduleAtFixedRate(this::tick, TICK_NANOS, TICK_NANOS, TimeUnit.NANOSECONDS);
    }

    void stop() {
        ticking.cancel(false);
    }

    private void tick() {
        long dueNow = (long) ((System.nanoTime() - beganNanos) * requestsPerNano);
        for (; due < dueNow && !idle.isEmpty(); due++) {
            ChannelHandlerContext ctx = idle.poll();
            ((Answers) ctx.handler()).request(ctx);
            ctx.flush();
        }
        due = dueNow;
    }

    private final class Answers extends RequestClient {
        @Override
        void answered(ChannelHandlerContext ctx, long nanos) {
            counts.addRoundTrip(nanos);
            idle.add(ctx);
        }
    }
}
