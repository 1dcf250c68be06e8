package io.rdmaraw.channel;

import io.rdmaraw.metrics.internal.MetricTable;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetric;

import java.util.List;

/**
 * What one channel has counted. Written by its loop with plain stores; other threads read values that may be a little
 * old.
 */
public final class RdmaRawChannelStatistics implements RdmaRawMetered {
    static final MetricTable<RdmaRawChannelStatistics> TABLE = new MetricTable<RdmaRawChannelStatistics>()
            .traffic("received.frames", RdmaRawChannelStatistics::receivedFrames, "frames handed to the pipeline")
            .traffic("received.bytes", RdmaRawChannelStatistics::receivedBytes, "bytes of those frames")
            .drop("not-read", RdmaRawChannelStatistics::droppedWithoutRead,
                    "reads were paused and the backlog was full")
            .drop("closed", RdmaRawChannelStatistics::droppedAtClose, "in the backlog when the channel closed")
            .drop("not-allocated", RdmaRawChannelStatistics::droppedUnallocated,
                    "the channel's ALLOCATOR, which is not the transport's, had no buffer")
            .copy("foreign-allocator", RdmaRawChannelStatistics::copiedForAllocator,
                    "received frames copied because the channel's ALLOCATOR is not the transport's");

    long receivedFrames;
    long receivedBytes;
    long droppedWithoutRead;
    long droppedAtClose;
    long droppedUnallocated;
    long copiedForAllocator;

    RdmaRawChannelStatistics() {
    }

    /** Frames handed to the pipeline. */
    public long receivedFrames() {
        return receivedFrames;
    }

    /** Bytes of those frames. */
    public long receivedBytes() {
        return receivedBytes;
    }

    /** Frames dropped because reads were paused and the backlog was full. */
    public long droppedWithoutRead() {
        return droppedWithoutRead;
    }

    /** Frames that were in the backlog when the channel closed. */
    public long droppedAtClose() {
        return droppedAtClose;
    }

    /** Frames dropped because the channel's {@code ALLOCATOR}, which is not the transport's, had no buffer. */
    public long droppedUnallocated() {
        return droppedUnallocated;
    }

    /** Received frames that were copied because the channel's {@code ALLOCATOR} is not the transport's. */
    public long copiedForAllocator() {
        return copiedForAllocator;
    }

    @Override
    public List<RdmaRawMetric> metrics() {
        return TABLE.metrics();
    }

    @Override
    public long value(RdmaRawMetric metric) {
        return TABLE.value(this, metric);
    }
}
