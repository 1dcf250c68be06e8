package io.rdmaraw.tools.pktgen;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.rdmaraw.tools.run.Counter;
import io.rdmaraw.tools.run.RunFailure;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;

/** Sends frames from its event loop in bursts, as fast as the rate and the device allow. */
final class Transmitter extends ChannelInboundHandlerAdapter implements Runnable {
    static final int BURST = 64;
    /**
     * The shortest wait that uses a timer. For shorter waits the event loop keeps running, because a timer would be
     * late.
     */
    private static final long MIN_TIMER_NANOS = TimeUnit.MICROSECONDS.toNanos(100);

    private final FrameSet frames;
    private final LongFunction<Pace> paceFrom;
    private final boolean probes;
    /** The next number of each stream. */
    private final int[] numbers;
    private final long maxFrames;
    private final RunFailure failure;
    private final CountDownLatch done;
    private final Counter sentFrames = new Counter();
    private final Counter sentBytes = new Counter();
    private volatile ChannelHandlerContext ctx;
    private Pace pace;
    private volatile long firstNanos;
    private volatile long lastNanos;
    private boolean waitingForRoom;
    private boolean ended;
    private volatile boolean stopping;

    /**
     * Creates the handler.
     *
     * @param paceFrom  creates the pace when the first frame is sent
     * @param probes    whether the frames end with a {@link TrafficProbe}
     * @param maxFrames number of frames to send; 0 to send until {@link #stop()}
     * @param done      opened when the device has sent the last frame
     */
    Transmitter(FrameSet frames, LongFunction<Pace> paceFrom, boolean probes, long maxFrames, RunFailure failure,
            CountDownLatch done) {
        this.frames = frames;
        this.paceFrom = paceFrom;
        this.probes = probes;
        numbers = new int[probes ? TrafficProbe.MAX_STREAMS : 0];
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

    /** Stops after one more burst. Thread-safe. */
    void stop() {
        stopping = true;
        ChannelHandlerContext current = ctx;
        if (current != null) {
            // At a slow rate, the timer of the next frame may be far away.
            current.executor().execute(this);
        }
    }

    @Override
    public void run() {
        if (ended || waitingForRoom) {
            return;
        }
        long now = System.nanoTime();
        if (pace == null) {
            pace = paceFrom.apply(now);
            firstNanos = now;
        }
        sendBurst(now);
        if (stopping) {
            end();
        } else if (!ended && !ctx.channel().isWritable()) {
            waitingForRoom = true;
        } else if (!ended) {
            runAgain(now);
        }
    }

    private void sendBurst(long now) {
        int sent = 0;
        while (sent < BURST && !ended && ctx.channel().isWritable() && pace.maySend(now, frames.nextBytes())) {
            boolean last = maxFrames > 0 && sentFrames.get() + sent + 1 == maxFrames;
            ByteBuf frame = nextFrame(now);
            int frameBytes = frame.readableBytes();
            ctx.write(frame, last ? awaited() : ctx.voidPromise());
            pace.recordSent(frameBytes);
            sentBytes.add(frameBytes);
            sent++;
            ended = last;
        }
        sentFrames.add(sent);
        lastNanos = sent > 0 ? now : lastNanos;
        ctx.flush();
    }

    private ByteBuf nextFrame(long now) {
        byte[] bytes = frames.next();
        ByteBuf frame = ctx.alloc().directBuffer(bytes.length).writeBytes(bytes);
        if (probes) {
            TrafficProbe.write(frame, numbers[TrafficProbe.streamOf(bytes)]++, now);
        }
        return frame;
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

    /**
     * Sends one more frame and opens {@code done} when the device has sent it, and thereby all earlier frames. Does
     * nothing if the last frame has been written.
     */
    private void end() {
        if (!ended) {
            ended = true;
            ByteBuf frame = nextFrame(System.nanoTime());
            sentBytes.add(frame.readableBytes());
            sentFrames.add(1);
            ctx.writeAndFlush(frame, awaited());
        }
    }

    private void runAgain(long now) {
        long waitNanos = pace.nanosUntilNext(now);
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
            // Not called directly, because this callback runs in the middle of a flush.
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

    /** Returns the time between the first and the last frame, which excludes the opening of the device. */
    double seconds() {
        return (lastNanos - firstNanos) / 1e9;
    }

    long sentFrames() {
        return sentFrames.get();
    }

    long sentBytes() {
        return sentBytes.get();
    }
}
