package io.rdmaraw.queue;

/** Counts as a receive queue does, for the bench of what that costs. */
public final class QueueCounting {
    private final QueueCounters counters = new QueueCounters();

    /** Returns what is counted in. */
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
