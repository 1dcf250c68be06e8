package io.rdmaraw.channel;

/**
 * What one channel has counted. Written by its loop with plain stores; other threads read values that may be a little
 * old.
 */
public final class RdmaRawChannelStatistics {
    long receivedFrames;
    long receivedBytes;
    long droppedWithoutRead;
    long droppedAtClose;

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

    /** Frames dropped because nobody read and the backlog was full. */
    public long droppedWithoutRead() {
        return droppedWithoutRead;
    }

    /** Frames that were in the backlog when the channel closed. */
    public long droppedAtClose() {
        return droppedAtClose;
    }
}
