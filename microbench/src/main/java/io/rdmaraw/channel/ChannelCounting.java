package io.rdmaraw.channel;

import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.device.QueueFlightRecorder;
import io.rdmaraw.device.QueueStatistics;
import io.rdmaraw.queue.QueueCounting;
import io.rdmaraw.queue.SharedDevice;
import java.util.Map;

/**
 * Updates the counters of a device queue and of a channel. {@code CountingBenchmark} uses it to measure the cost of
 * counting. It is in this package because the counters are package-private.
 */
public final class ChannelCounting implements AutoCloseable {
    private final SharedDevice device = SharedDevice.acquire("soft:loop:counting");
    private final QueueStatistics statistics;
    private final RdmaRawChannelStatistics channel = new RdmaRawChannelStatistics();
    private final QueueFlightRecorder flightRecorder;
    private final QueueCounting queue;

    /** Adds the counters of a device queue and a channel to those of a receive queue. */
    public ChannelCounting(QueueCounting queue) {
        this.queue = queue;
        statistics = new QueueStatistics(device, 1, queue.counters(), Map.of());
        flightRecorder = new QueueFlightRecorder(device.name(), 1);
    }

    /** Counts a burst in the same way as {@link DeviceQueue} and {@link FrameInbox}, which do this once per burst. */
    public void burst(int frames, int bytes) {
        statistics.countBurst(frames);
        channel.receivedFrames += frames;
        channel.receivedBytes += bytes;
        flightRecorder.onBurst(queue.counters().copiedOutFrames);
    }

    @Override
    public void close() {
        device.release();
    }
}
