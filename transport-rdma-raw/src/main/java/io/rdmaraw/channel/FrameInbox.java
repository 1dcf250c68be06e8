package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelPipeline;
import io.rdmaraw.channel.io.Inbox;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.queue.ReceiveBurst;

/** Queues received frames of a raw channel. Fires them one by one or as {@link FrameBurst}s. */
final class FrameInbox extends Inbox<ByteBuf> {
    private final RdmaRawChannel channel;
    private final RdmaRawChannelStatistics statistics;
    private FrameBurst currentBurst;

    FrameInbox(RdmaRawChannel channel, RdmaRawChannelStatistics statistics) {
        super(channel, channel.config().readSettings());
        this.channel = channel;
        this.statistics = statistics;
    }

    @Override
    protected int bytesOf(ByteBuf frame) {
        return frame.readableBytes();
    }

    @Override
    protected boolean hasRoom(ByteBuf frame, int queuedMessages, long queuedBytes) {
        return queuedMessages < channel.config().getReceiveBacklog();
    }

    @Override
    protected ByteBuf copyForUser(ByteBuf frame) {
        ByteBuf copy = copyContentForUser(frame);
        statistics.copiedForAllocator++;
        return copy;
    }

    @Override
    protected void countAllocationFailure() {
        statistics.droppedUnallocated++;
    }

    @Override
    protected void countDropped() {
        statistics.droppedNotRead++;
    }

    @Override
    protected void countReceived(int messages, int bytes) {
        statistics.receivedFrames += messages;
        statistics.receivedBytes += bytes;
    }

    /**
     * Fires frames of a burst while the user reads without restrictions and the channel stays on its queue. Returns the
     * index after the last one.
     *
     * <p>The loop is short and close to the handler, because the JIT compiler stops inlining at a certain call depth.
     * Beyond it, each buffer access takes several calls.
     */
    int receiveRun(ReceiveBurst burst, int from, int end) {
        if (!allowsUncheckedReads()) {
            return from;
        }
        int next = channel.config().isFrameBursts() ? collect(burst, from, end) : fire(burst, from, end);
        countInBurst(next - from, burst.bytes(from, next));
        return next;
    }

    private int fire(ReceiveBurst burst, int from, int end) {
        beginBurst();
        DeviceQueue deviceQueue = channel.deviceQueue();
        ChannelPipeline pipeline = channel.pipeline();
        RdmaRawChannelConfig config = channel.config();
        int next = from;
        do {
            pipeline.fireChannelRead(burst.takeFrame(next++));
        } while (next < end && isReadPending() && config.isAutoRead() && channel.deviceQueue() == deviceQueue);
        return next;
    }

    private int collect(ReceiveBurst burst, int from, int end) {
        beginBurst();
        if (currentBurst == null) {
            currentBurst = channel.ioHandler().burstPool().acquire();
        }
        int next = from;
        while (next < end && !currentBurst.isFull()) {
            currentBurst.add(burst.takeFrame(next++));
        }
        return next;
    }

    @Override
    protected boolean deliver(ByteBuf frame) {
        if (!channel.config().isFrameBursts()) {
            return super.deliver(frame);
        }
        if (currentBurst == null) {
            currentBurst = channel.ioHandler().burstPool().acquire();
        }
        currentBurst.add(frame);
        return !currentBurst.isFull();
    }

    @Override
    protected void beforeReadComplete() {
        FrameBurst burst = currentBurst;
        if (burst != null) {
            currentBurst = null;
            completeReadRequest();
            channel.pipeline().fireChannelRead(burst);
        }
    }

    @Override
    public int close() {
        int dropped = super.close();
        if (currentBurst != null) {
            dropped += currentBurst.size();
            countInBurst(-currentBurst.size(), (int) -currentBurst.readableBytes());
            currentBurst.release();
            currentBurst = null;
        }
        statistics.droppedAtClose += dropped;
        return dropped;
    }
}
