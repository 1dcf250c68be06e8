package io.rdmaraw.tools.demo;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.rdmaraw.tools.frame.EthernetAddresses;
import io.rdmaraw.tools.run.Counter;
import io.rdmaraw.tools.run.RunFailure;

/**
 * Keeps a window of frames in flight. Each returned frame is verified and sent again with the next sequence number.
 * Frames return in order, so a gap in the numbers is a loss. Other threads may read the counters; all other state
 * belongs to the event loop.
 */
final class ProbeHandler extends ChannelInboundHandlerAdapter {
    private final long destination;
    private final long source;
    private final int frameBytes;
    private final int window;
    private final RunFailure failure;
    private final Counter verified = new Counter();
    private final Counter lost = new Counter();
    private final Counter corrupt = new Counter();
    private final Counter sent = new Counter();
    private long nextToSend;
    private long nextExpected;
    private boolean sending;

    /** Creates the handler. MAC addresses are numbers of 48 bits. */
    ProbeHandler(long destination, long source, int frameBytes, int window, RunFailure failure) {
        this.destination = destination;
        this.source = source;
        this.frameBytes = frameBytes;
        this.window = window;
        this.failure = failure;
    }

    /** Sends the first window. Called on the event loop. */
    void start(ChannelHandlerContext ctx) {
        sending = true;
        fillWindow(ctx);
    }

    /** Stops sending: returned frames are not sent again. Called on the event loop. */
    void stop() {
        sending = false;
    }

    /**
     * Counts the frames in flight as lost, and fills the window again unless {@link #stop} was called. Called on the
     * event loop.
     */
    void abandonInFlight(ChannelHandlerContext ctx) {
        lost.add(nextToSend - nextExpected);
        nextExpected = nextToSend;
        if (sending) {
            fillWindow(ctx);
        }
    }

    private void fillWindow(ChannelHandlerContext ctx) {
        while (nextToSend - nextExpected < window) {
            ByteBuf frame = ctx.alloc().directBuffer(frameBytes).writerIndex(frameBytes);
            ProbeFrame.writeHeader(frame, destination, source);
            send(ctx, frame);
        }
        ctx.flush();
    }

    private void send(ChannelHandlerContext ctx, ByteBuf frame) {
        ProbeFrame.stamp(frame, nextToSend++, frameBytes);
        sent.add(1);
        ctx.write(frame, ctx.voidPromise());
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
        ByteBuf frame = (ByteBuf) msg;
        account(frame);
        if (sending && nextToSend - nextExpected < window) {
            EthernetAddresses.swap(frame);
            send(ctx, frame);
        } else {
            frame.release();
        }
    }

    private void account(ByteBuf frame) {
        if (!ProbeFrame.isIntact(frame, frameBytes)) {
            corrupt.add(1);
            return;
        }
        long sequence = ProbeFrame.sequence(frame);
        if (sequence < nextExpected || sequence >= nextToSend) {
            // The frame is a duplicate, late, or was never sent.
            corrupt.add(1);
            return;
        }
        lost.add(sequence - nextExpected);
        nextExpected = sequence + 1;
        verified.add(1);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        // A loss leaves room in the window that no returned frame fills.
        if (sending && nextToSend - nextExpected < window) {
            fillWindow(ctx);
        }
        ctx.flush();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        failure.report(cause);
    }

    long verifiedFrames() {
        return verified.get();
    }

    long lostFrames() {
        return lost.get();
    }

    long corruptFrames() {
        return corrupt.get();
    }

    /** Returns the number of frames in flight. */
    long framesUnderWay() {
        return sent.get() - verified.get() - lost.get();
    }
}
