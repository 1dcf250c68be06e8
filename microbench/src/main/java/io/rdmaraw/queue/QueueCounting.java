package io.rdmaraw.queue;

/** Updates the counters of a receive queue. {@code CountingBenchmark} uses it to measure the cost of counting. */
public final class QueueCounting {
    private final QueueCounters counters = new QueueCounters();

    /** Returns the counters. */
    public QueueCounters counters() {
        return counters;
    }

    /** Counts a poll in the same way as {@link ReceiveRing#receive}. */
    public void poll() {
        counters.receivePolls++;
    }

    /** Counts a frame in the same way as {@link ReceiveRing#deliver}. */
    public void frame(int lengthBytes) {
        counters.receivedFrames++;
        counters.receivedBytes += lengthBytes;
    }
}
