package io.rdmaraw.tools.pktgen;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.rdmaraw.pcap.PcapWriter;
import io.rdmaraw.tools.run.Counter;
import io.rdmaraw.tools.run.RunFailure;
import java.io.IOException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.CountDownLatch;

/** Counts frames, and writes them to a file if one is given. */
final class Receiver extends ChannelInboundHandlerAdapter {
    private final long maxFrames;
    private final PcapWriter fileOrNull;
    private final ProbeReader probeOrNull;
    private final RunFailure failure;
    private final CountDownLatch done;
    private final Counter frames = new Counter();
    private final Counter bytes = new Counter();
    /** The wall clock in nanoseconds is this plus {@link System#nanoTime}. */
    private final long epochOffsetNanos = ChronoUnit.NANOS.between(Instant.EPOCH, Instant.now()) - System.nanoTime();
    private byte[] copy = new byte[2048];

    /**
     * Creates the handler.
     *
     * @param maxFrames   number of frames to receive; 0 for no limit
     * @param fileOrNull  file to write to; used on the loop until {@code done} opens or the channel is closed
     * @param probeOrNull measures frames that carry a probe
     */
    Receiver(long maxFrames, PcapWriter fileOrNull, ProbeReader probeOrNull, RunFailure failure, CountDownLatch done) {
        this.maxFrames = maxFrames;
        this.fileOrNull = fileOrNull;
        this.probeOrNull = probeOrNull;
        this.failure = failure;
        this.done = done;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) throws IOException {
        ByteBuf frame = (ByteBuf) msg;
        try {
            if (maxFrames > 0 && frames.get() == maxFrames) {
                return;
            }
            frames.add(1);
            bytes.add(frame.readableBytes());
            if (probeOrNull != null) {
                probeOrNull.read(frame);
            }
            if (fileOrNull != null) {
                write(frame);
            }
            if (frames.get() == maxFrames) {
                done.countDown();
            }
        } finally {
            frame.release();
        }
    }

    private void write(ByteBuf frame) throws IOException {
        int lengthBytes = frame.readableBytes();
        if (copy.length < lengthBytes) {
            copy = new byte[lengthBytes];
        }
        frame.getBytes(frame.readerIndex(), copy, 0, lengthBytes);
        fileOrNull.write(epochOffsetNanos + System.nanoTime(), copy, 0, lengthBytes);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        failure.report(cause);
        done.countDown();
    }

    long frames() {
        return frames.get();
    }

    long bytes() {
        return bytes.get();
    }
}
