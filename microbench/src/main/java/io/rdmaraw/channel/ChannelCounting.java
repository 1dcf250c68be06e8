package io.rdmaraw.channel;

import io.rdmaraw.queue.QueueCounting;
import io.rdmaraw.queue.SharedDevice;

/** Counts as a port's queue and a channel on it do, for the bench of what that costs. */
public final class ChannelCounting implements AutoCloseable {
    private final SharedDevice device = SharedDevice.acquire("soft:loop:counting");
    private final RdmaRawPortStatistics port;
    private final RdmaRawChannelStatistics channel = new RdmaRawChannelStatistics();
    private final PortEvents events;
    private final QueueCounting queue;

    /** Counts for a queue. */
    public ChannelCounting(QueueCounting queue) {
        this.queue = queue;
        port = new RdmaRawPortStatistics(device, 1, queue.counters());
        events = new PortEvents(device.name(), 1);
    }

    /** As {@link PortQueue} and {@link FrameInbox} do once for each burst. */
    public void burst(int frames, int bytes) {
        port.burst(frames);
        channel.receivedFrames += frames;
        channel.receivedBytes += bytes;
        events.burst(queue.counters().copiedOutFrames());
    }

    @Override
    public void close() {
        device.release();
    }
}
