package io.rdmaraw.tools.bench;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.rdmaraw.channel.FrameBurst;
import io.rdmaraw.tools.frame.EthernetAddresses;
import io.rdmaraw.tools.report.Counter;
import io.rdmaraw.tools.report.RunFailure;

/** The handler that is measured: counts frames and releases them, or sends them back with the MAC addresses swapped. */
final class FrameSink extends ChannelInboundHandlerAdapter {
    private final boolean echoes;
    private final Counter frames = new Counter();
    private final RunFailure failure = new RunFailure();
    private long etherTypes;

    FrameSink(boolean echoes) {
        this.echoes = echoes;
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
        frames.add(1);
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
            // The C program reads a byte of each frame too: a frame that is never looked at costs no cache miss.
            etherTypes += frame.getByte(12);
        }
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        if (echoes) {
            ctx.flush();
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        failure.report(cause);
    }

    long frames() {
        return frames.get();
    }

    /** A value that depends on every frame, so that looking at them is not optimised away. */
    long etherTypes() {
        return etherTypes;
    }

    RunFailure failure() {
        return failure;
    }
}
