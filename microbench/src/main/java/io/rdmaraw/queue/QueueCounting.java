package io.rdmaraw.queue;

/** Updates the counters of a receive queue, so that a bench can measure what counting costs. */
public final class QueueCounting {
    private final QueueCounters counters = new QueueCounters();

    /** Returns the counters. */
    public QueueCounters counters() {
        return counters;
    }

    /** As {@link ReceiveRing#receive}. */
    public void poll() {
        counters.receivePolls++;
    }

    /** As {@link ReceiveRing#deliver}. */
    public void frame(int lengthBytes) {
        counters.receivedFrames++;
        counters.receivedBytes += lengthBytes;
    }
}
