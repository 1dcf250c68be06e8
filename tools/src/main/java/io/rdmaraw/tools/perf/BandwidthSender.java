package io.rdmaraw.tools.perf;

import java.util.function.BooleanSupplier;

/** The client side of {@code bw}: keeps the send queues full and counts completions. Used by one thread. */
final class BandwidthSender {
    private final PerfEndpoint endpoint;
    private final int frameBytes;
    private final int postList;
    private final BooleanSupplier keepRunning;
    private final PeakMeter peak = new PeakMeter();
    private final Window window;
    private int nextLane;
    private long sentBefore;
    private long sent;

    BandwidthSender(PerfEndpoint endpoint, int frameBytes, int postList, Window window,
            BooleanSupplier keepRunning) {
        this.endpoint = endpoint;
        this.frameBytes = frameBytes;
        this.postList = postList;
        this.window = window;
        this.keepRunning = keepRunning;
    }

    /**
     * Sends frames until the run has reached its length, and waits for their completions.
     *
     * @param mark {@link Stamp#WARM_UP} for frames that are excluded from the result, or 0
     */
    BandwidthSample run(RunLength length, SendSchedule schedule, int mark) {
        long completedBefore = completed();
        sentBefore += sent;
        long start = System.nanoTime();
        long now = start;
        sent = 0;
        schedule.start(start);
        peak.start(start, completedBefore);
        long left = length.left(0, 0);
        while (left > 0 && keepRunning.getAsBoolean()) {
            int posted = post(Math.min(window.room(sentBefore + sent, now), Math.min(left, schedule.due(now) - sent)),
                    mark);
            if (posted + endpoint.pollSends() == 0) {
                endpoint.idle(schedule.isUnlimited() ? Long.MAX_VALUE : schedule.intendedNanos(sent) - now);
            } else {
                endpoint.busy();
            }
            now = System.nanoTime();
            peak.update(now, completed());
            left = length.left(sent, now - start);
        }
        drain(mark);
        double seconds = (System.nanoTime() - start) / 1e9;
        long frames = completed() - completedBefore;
        return new BandwidthSample("client", frameBytes, frames, seconds, peak.peakPerSecond(frames / seconds),
                BandwidthSample.UNKNOWN);
    }

    private int post(long wanted, int mark) {
        SendLane lane = endpoint.senders().get(nextLane);
        nextLane = nextLane + 1 == endpoint.senders().size() ? 0 : nextLane + 1;
        int count = (int) Math.min(Math.min(postList, lane.room()), wanted);
        if (count <= 0) {
            return 0;
        }
        // Near the end, each post is signalled, so that its frames complete without a later post.
        boolean last = wanted <= (long) postList * endpoint.senders().size();
        lane.send(count, (int) sent & Stamp.NUMBER_MASK | mark, last);
        sent += count;
        return count;
    }

    /** Sends one more, signalled frame on each queue pair with unsignalled sends, so that these complete, too. */
    private void drain(int mark) {
        for (SendLane lane : endpoint.senders()) {
            if (lane.hasUnsignalled()) {
                lane.send(1, (int) sent++ & Stamp.NUMBER_MASK | mark, true);
            }
        }
        endpoint.awaitSends();
    }

    private long completed() {
        long completed = 0;
        for (int i = 0; i < endpoint.senders().size(); i++) {
            completed += endpoint.senders().get(i).completed();
        }
        return completed;
    }
}
