package io.rdmaraw.tools.perf;

import java.util.function.BooleanSupplier;

/** The server side of {@code lat} and {@code burst-lat}: answers every n-th ping with a frame of the same number. */
final class Ponger implements PerfEndpoint.FrameSink {
    private final PerfEndpoint endpoint;
    private final int stampOffset;
    private final int replyEvery;
    private long pings;
    private long unanswered;

    Ponger(PerfEndpoint endpoint, int stampOffset, int replyEvery) {
        this.endpoint = endpoint;
        this.stampOffset = stampOffset;
        this.replyEvery = replyEvery;
    }

    void run(BooleanSupplier keepRunning) {
        while (keepRunning.getAsBoolean()) {
            if (endpoint.pollReceives(this) + endpoint.pollSends() == 0) {
                endpoint.idle(Long.MAX_VALUE);
            } else {
                endpoint.busy();
            }
        }
    }

    @Override
    public void frame(long address, int lengthBytes) {
        long stamp = stampOffset == Stamp.NO_OFFSET ? Stamp.NONE : Stamp.read(address + stampOffset);
        pings++;
        // Count by the number in the ping, so that a lost ping does not shift the answers to all later ones.
        long number = stamp == Stamp.NONE ? pings : (stamp & Stamp.NUMBER_MASK) + 1;
        if (number % replyEvery != 0) {
            return;
        }
        SendLane lane = endpoint.senders().getFirst();
        if (lane.room() == 0) {
            endpoint.pollSends();
        }
        if (lane.room() == 0) {
            unanswered++;
        } else {
            lane.send(1, (int) stamp, false);
        }
    }

    /** Returns the number of received pings. */
    long pings() {
        return pings;
    }

    /** Returns the number of pings that were not answered because the send queue was full. */
    long unanswered() {
        return unanswered;
    }
}
