package io.rdmaraw.tools.perf;

import java.util.Arrays;
import java.util.function.BooleanSupplier;
import org.HdrHistogram.Histogram;

/**
 * The client side of {@code lat} and {@code burst-lat}. Pings are sent on a schedule. The latency of a ping is measured
 * from its scheduled send time. A stall is thus charged to every ping that it delayed, which avoids coordinated
 * omission. The latency from the actual send time is recorded as well. Used by one thread.
 */
final class Pinger implements PerfEndpoint.FrameSink {
    private static final long MAX_NANOS = 60_000_000_000L;
    private static final int SIGNIFICANT_DIGITS = 3;
    private static final int TIMES = 1 << 16;
    private static final long LOSS_NANOS = 1_000_000_000L;

    private final PerfEndpoint endpoint;
    private final int stampOffset;
    private final BooleanSupplier keepRunning;
    private final int burst;
    private final int replyEvery;
    private final int window;
    private final Histogram fromSchedule = new Histogram(MAX_NANOS, SIGNIFICANT_DIGITS);
    private final Histogram fromSend = new Histogram(MAX_NANOS, SIGNIFICANT_DIGITS);
    /** Actual and scheduled send times of the last pings, indexed by number. {@code sentNanos} is 0 once answered. */
    private final long[] sentNanos = new long[TIMES];
    private final long[] intendedNanos = new long[TIMES];
    private int mark;
    private long sent;
    private long expectedPongs;
    private long pongs;
    private long givenUp;
    private long late;
    private long nowNanos;
    private long lastProgressNanos;

    /**
     * Creates the side that sends pings.
     *
     * @param burst      number of pings sent at once
     * @param replyEvery number of pings per answer of the server
     * @param window     maximum number of missing answers when a burst starts
     */
    Pinger(PerfEndpoint endpoint, int stampOffset, int burst, int replyEvery, int window, BooleanSupplier keepRunning) {
        this.endpoint = endpoint;
        this.stampOffset = stampOffset;
        this.burst = burst;
        this.replyEvery = replyEvery;
        this.window = Math.min(window, TIMES / 2);
        this.keepRunning = keepRunning;
    }

    LatencySample run(RunLength length, SendSchedule schedule, int stampMark) {
        reset(stampMark);
        long start = System.nanoTime();
        nowNanos = start;
        lastProgressNanos = start;
        schedule.start(start);
        while (keepRunning.getAsBoolean() && (length.left(sent, nowNanos - start) > 0 || missing() > 0)) {
            int moved = length.left(sent, nowNanos - start) > 0 ? sendDue(schedule, length, start) : 0;
            moved += endpoint.pollSends();
            nowNanos = System.nanoTime();
            moved += endpoint.pollReceives(this);
            if (moved > 0) {
                lastProgressNanos = nowNanos;
                endpoint.busy();
            } else {
                expireLost();
                endpoint.idle(schedule.isUnlimited() ? LOSS_NANOS : schedule.intendedNanos(sent) - nowNanos);
            }
        }
        return new LatencySample(sent, fromSchedule.copy(), fromSend.copy(), givenUp + missing(), late,
                (System.nanoTime() - start) / 1e9);
    }

    private void reset(int stampMark) {
        mark = stampMark;
        sent = 0;
        pongs = 0;
        expectedPongs = 0;
        givenUp = 0;
        late = 0;
        fromSchedule.reset();
        fromSend.reset();
    }

    private long missing() {
        return expectedPongs - pongs - givenUp;
    }

    /** Sends the rest of a burst, or starts the next one if it is due and the window allows it. */
    private int sendDue(SendSchedule schedule, RunLength length, long start) {
        SendLane lane = endpoint.senders().getFirst();
        boolean inBurst = sent % burst != 0;
        if (lane.room() == 0 || !inBurst && (missing() >= window || schedule.due(nowNanos) <= sent)) {
            return 0;
        }
        int count = (int) Math.min(Math.min(burst - sent % burst, lane.room()), length.left(sent, nowNanos - start));
        long sendNanos = System.nanoTime();
        if (!schedule.isUnlimited() && sendNanos > schedule.intendedNanos(sent + burst)) {
            late += count;
        }
        for (int i = 0; i < count; i++) {
            lane.send(1, (int) (sent & Stamp.NUMBER_MASK) | mark, true);
            if ((sent + 1) % replyEvery == 0) {
                int place = (int) sent & TIMES - 1;
                sentNanos[place] = sendNanos;
                intendedNanos[place] = schedule.isUnlimited() ? sendNanos : schedule.intendedNanos(sent);
                expectedPongs++;
            }
            sent++;
        }
        return count;
    }

    @Override
    public void frame(long address, int lengthBytes) {
        long stamp = stampOffset == Stamp.NO_OFFSET ? Stamp.NONE : Stamp.read(address + stampOffset);
        if (stamp != Stamp.NONE && ((int) stamp & Stamp.WARM_UP) != mark) {
            return;
        }
        // A peer that does not return the number (another program, or frames too short) is assumed to answer in order.
        long number = stamp == Stamp.NONE ? (pongs + givenUp + 1) * replyEvery - 1
                : FrameNumbers.extend(sent, stamp & Stamp.NUMBER_MASK);
        int place = (int) number & TIMES - 1;
        if (number < 0 || number >= sent || sentNanos[place] == 0 || missing() == 0) {
            return;
        }
        pongs++;
        long now = System.nanoTime();
        fromSend.recordValue(Math.min(MAX_NANOS, now - sentNanos[place]));
        fromSchedule.recordValue(Math.min(MAX_NANOS, now - intendedNanos[place]));
        sentNanos[place] = 0;
    }

    /**
     * Counts the missing answers as lost if nothing has arrived for a second. The measurement continues without them.
     */
    private void expireLost() {
        if (missing() > 0 && nowNanos - lastProgressNanos > LOSS_NANOS) {
            givenUp += missing();
            lastProgressNanos = nowNanos;
            Arrays.fill(sentNanos, 0);
        }
    }
}
