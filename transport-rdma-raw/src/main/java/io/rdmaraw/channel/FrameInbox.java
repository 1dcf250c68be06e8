package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;

/** The frames that a raw channel received, one by one or as {@link FrameBurst}s. */
final class FrameInbox extends Inbox<ByteBuf> {
    private final RdmaRawChannel channel;
    private final RdmaRawChannelStatistics statistics;
    private FrameBurst currentBurst;

    FrameInbox(RdmaRawChannel channel, RdmaRawChannelStatistics statistics) {
        super(channel);
        this.channel = channel;
        this.statistics = statistics;
    }

    @Override
    int bytesOf(ByteBuf frame) {
        return frame.readableBytes();
    }

    @Override
    boolean hasRoom(ByteBuf frame, int keptMessages, long keptBytes) {
        return keptMessages < channel.config().getReceiveBacklog();
    }

    @Override
    void countDropped() {
        statistics.droppedWithoutRead++;
    }

    @Override
    void count(int messages, int bytes) {
        statistics.receivedFrames += messages;
        statistics.receivedBytes += bytes;
    }

    @Override
    boolean deliver(ByteBuf frame) {
        if (!channel.config().isFrameBursts()) {
            return super.deliver(frame);
        }
        if (currentBurst == null) {
            currentBurst = channel.port().burstPool().take();
        }
        currentBurst.add(frame);
        return !currentBurst.isFull();
    }

    @Override
    void finishBurst() {
        FrameBurst burst = currentBurst;
        if (burst != null) {
            currentBurst = null;
            oneRead();
            channel.pipeline().fireChannelRead(burst);
        }
    }

    @Override
    int close() {
        if (currentBurst != null) {
            currentBurst.release();
            currentBurst = null;
        }
        int dropped = super.close();
        statistics.droppedAtClose += dropped;
        return dropped;
    }
}
