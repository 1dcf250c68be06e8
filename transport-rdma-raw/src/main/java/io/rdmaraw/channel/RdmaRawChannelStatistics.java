package io.rdmaraw.channel;

import io.rdmaraw.metrics.internal.MetricTable;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.RdmaRawMetric;

import java.util.List;

/**
 * Counters of one {@link RdmaRawChannel}. The event loop updates them with plain stores. Other threads may read
 * slightly outdated values.
 */
public final class RdmaRawChannelStatistics implements RdmaRawMetered {
    static final MetricTable<RdmaRawChannelStatistics> TABLE = new MetricTable<RdmaRawChannelStatistics>()
            .traffic("received.frames", RdmaRawChannelStatistics::receivedFrames, "frames fired into the pipeline")
            .traffic("received.bytes", RdmaRawChannelStatistics::receivedBytes,
                    "bytes of the frames fired into the pipeline")
            .drop("not-read", RdmaRawChannelStatistics::droppedNotRead,
                    "frames dropped because reads were paused and the backlog was full")
            .otherDrop("closed", RdmaRawChannelStatistics::droppedAtClose,
                    "frames in the backlog when the channel was closed")
            .drop("not-allocated", RdmaRawChannelStatistics::droppedUnallocated,
                    "frames dropped because the channel's ALLOCATOR had no buffer")
            .copy("foreign-allocator", RdmaRawChannelStatistics::copiedForAllocator,
                    "received frames copied because the channel's ALLOCATOR is not the transport's");

    long receivedFrames;
    long receivedBytes;
    long droppedNotRead;
    long droppedAtClose;
    long droppedUnallocated;
    long copiedForAllocator;

    RdmaRawChannelStatistics() {
    }

    /** Returns the number of frames that were fired into the pipeline. */
    public long receivedFrames() {
        return receivedFrames;
    }

    /** Returns the number of bytes of all frames that were fired into the pipeline. */
    public long receivedBytes() {
        return receivedBytes;
    }

    /** Returns the number of frames that were dropped because reads were paused and the backlog was full. */
    public long droppedNotRead() {
        return droppedNotRead;
    }

    /** Returns the number of frames that were dropped because they were in the backlog when the channel closed. */
    public long droppedAtClose() {
        return droppedAtClose;
    }

    /**
     * Returns the number of frames that were dropped because the channel's {@code ALLOCATOR} had no buffer. Applies
     * only to allocators other than this transport's.
     */
    public long droppedUnallocated() {
        return droppedUnallocated;
    }

    /**
     * Returns the number of received frames that were copied because the channel's {@code ALLOCATOR} is not this
     * transport's.
     */
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
