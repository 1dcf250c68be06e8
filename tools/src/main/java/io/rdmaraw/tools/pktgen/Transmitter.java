package io.rdmaraw.tools.pktgen;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.rdmaraw.tools.report.Counter;
import io.rdmaraw.tools.report.RunFailure;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Sends frames from its loop, burst by burst, as fast as the rate and the device allow. */
final class Transmitter extends ChannelInboundHandlerAdapter implements Runnable {
    static final int BURST = 64;
    /** For shorter waits the loop is kept turning, as a timer is later than that. */
    private static final long MIN_TIMER_NANOS = TimeUnit.MICROSECONDS.toNanos(100);

    private final FrameSet frames;
    private final FrameRate rate;
    private final long maxFrames;
    private final RunFailure failure;
    private final CountDownLatch done;
    private final Counter sentFrames = new Counter();
    private final Counter sentBytes = new Counter();
    private volatile ChannelHandlerContext ctx;
    private boolean waitingForRoom;
    private boolean ended;
    private volatile boolean stopping;

    /**
     * @param maxFrames 0 for no end but {@link #stop()}
     * @param done      opened when the device has taken the last frame
     */
    Transmitter(FrameSet frames, FrameRate rate, long maxFrames, RunFailure failure, CountDownLatch done) {
        this.frames = frames;
        this.rate = rate;
        this.maxFrames = maxFrames;
        this.failure = failure;
        this.done = done;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
        ctx = context;
    }

    @Override
    public void channelActive(ChannelHandlerContext context) {
        context.fireChannelActive();
        context.executor().execute(this);
    }

    /** The burst after this call is the last one. On any thread. */
    void stop() {
        stopping = true;
        ChannelHandlerContext current = ctx;
        if (current != null) {
            // A slow rate may have set a timer that is far away.
            current.executor().execute(this);
        }
    }

    @Override
    public void run() {
        if (ended || waitingForRoom) {
            return;
        }
        int allowed = rate.available(System.nanoTime());
        if (maxFrames > 0) {
            allowed = (int) Math.min(allowed, maxFrames - sentFrames.get());
        }
        boolean last = stopping || maxFrames > 0 && sentFrames.get() + allowed >= maxFrames;
        int sent = sendBurst(allowed, last && !stopping);
        rate.take(sent);
        if (last && (stopping || sent == allowed)) {
            end();
        } else if (!ctx.channel().isWritable()) {
            waitingForRoom = true;
        } else {
            runAgain();
        }
    }

    /** @param lastIsAwaited whether the last of these frames is the last of all */
    private int sendBurst(int count, boolean lastIsAwaited) {
        int sent = 0;
        while (sent < count && ctx.channel().isWritable()) {
            byte[] bytes = frames.next();
            ByteBuf frame = ctx.alloc().directBuffer(bytes.length).writeBytes(bytes);
            sent++;
            ctx.write(frame, lastIsAwaited && sent == count ? awaited() : ctx.voidPromise());
            sentBytes.add(bytes.length);
        }
        sentFrames.add(sent);
        ctx.flush();
        return sent;
    }

    private ChannelPromise awaited() {
        ChannelPromise promise = ctx.newPromise();
        promise.addListener(future -> {
            if (!future.isSuccess()) {
                failure.report(future.cause());
            }
            done.countDown();
        });
        return promise;
    }

    /** What was stopped ends when all frames before are with the device: with an awaited frame more, or none. */
    private void end() {
        ended = true;
        if (stopping && (maxFrames == 0 || sentFrames.get() < maxFrames)) {
            sendAwaited();
        }
    }

    private void sendAwaited() {
        byte[] bytes = frames.next();
        ctx.writeAndFlush(ctx.alloc().directBuffer(bytes.length).writeBytes(bytes), awaited());
        sentFrames.add(1);
        sentBytes.add(bytes.length);
    }

    private void runAgain() {
        long waitNanos = rate.nanosUntilNext();
        if (waitNanos > MIN_TIMER_NANOS) {
            ctx.executor().schedule(this, waitNanos, TimeUnit.NANOSECONDS);
        } else {
            ctx.executor().execute(this);
        }
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext context) {
        if (waitingForRoom && context.channel().isWritable()) {
            waitingForRoom = false;
            // Not from here: this is called in the middle of a flush.
            context.executor().execute(this);
        }
        context.fireChannelWritabilityChanged();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        ended = true;
        failure.report(cause);
        done.countDown();
    }

    long sentFrames() {
        return sentFrames.get();
    }

    long sentBytes() {
        return sentBytes.get();
    }
}
