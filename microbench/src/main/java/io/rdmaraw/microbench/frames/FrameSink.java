package io.rdmaraw.microbench.frames;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.rdmaraw.channel.FrameBurst;
import io.rdmaraw.tools.frame.EthernetAddresses;
import io.rdmaraw.tools.run.Counter;
import io.rdmaraw.tools.run.RunFailure;

/**
 * The handler under measurement. It counts frames and releases them, or swaps their MAC addresses and sends them back.
 */
final class FrameSink extends ChannelInboundHandlerAdapter {
    private static final int LINES_BETWEEN = 16;
    private static final int ETHER_TYPES = LINES_BETWEEN;
    private static final int UNCOUNTED = LINES_BETWEEN + 1;
    private final boolean echoes;
    private final Counter frames = new Counter();
    private final RunFailure failure = new RunFailure();
    /**
     * Values that change with every frame, at indexes {@link #ETHER_TYPES} and {@link #UNCOUNTED}. Padding keeps them
     * on separate cache lines, because the generator on another core writes to adjacent objects.
     */
    private final long[] own = new long[3 * LINES_BETWEEN];
    private final Runnable afterBurst;

    FrameSink(boolean echoes) {
        this(echoes, null);
    }

    /** @param afterBurst task that runs on the loop after each burst, or null */
    FrameSink(boolean echoes, Runnable afterBurst) {
        this.echoes = echoes;
        this.afterBurst = afterBurst;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
        if (msg instanceof FrameBurst burst) {
            read(ctx, burst);
        } else {
            read(ctx, (ByteBuf) msg);
        }
    }

    private void read(ChannelHandlerContext ctx, ByteBuf frame) {
        handle(frame);
        own[UNCOUNTED]++;
        if (echoes) {
            ctx.write(frame, ctx.voidPromise());
        } else {
            frame.release();
        }
    }

    private void read(ChannelHandlerContext ctx, FrameBurst burst) {
        int size = burst.size();
        for (int i = 0; i < size; i++) {
            handle(burst.frame(i));
        }
        frames.add(size);
        if (echoes) {
            ctx.write(burst, ctx.voidPromise());
        } else {
            burst.release();
        }
    }

    private void handle(ByteBuf frame) {
        if (echoes) {
            EthernetAddresses.swap(frame);
        } else {
            // The C program also reads a byte of each frame. Without this read the frame would never enter the cache of
            // this core, and receiving would look too cheap.
            own[ETHER_TYPES] += frame.getByte(12);
        }
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        // The count is updated once per burst. The generator polls it from another core, so each update transfers a
        // cache line between the cores.
        long uncounted = own[UNCOUNTED];
        if (uncounted > 0) {
            frames.add(uncounted);
            own[UNCOUNTED] = 0;
        }
        if (echoes) {
            ctx.flush();
        }
        if (afterBurst != null) {
            ctx.executor().execute(afterBurst);
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        failure.report(cause);
    }

    long frames() {
        return frames.get();
    }

    /** Returns a value that depends on every frame, so that the compiler cannot remove the reads. */
    long etherTypes() {
        return own[ETHER_TYPES];
    }

    RunFailure failure() {
        return failure;
    }
}
