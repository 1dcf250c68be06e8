package io.rdmaraw.tcp;

import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.congestion.SendQuantum;
import io.rdmaraw.tcp.send.SendState;

/**
 * Limits a connection's data to a rate with a token bucket that holds two quanta. Data is sent until the bucket
 * is empty. It is sent again once the bucket holds a quantum, so that each burst is large enough for a doorbell.
 * A sender that is late by less than the time of a quantum loses none of its rate. In a time T, at most rate * T
 * plus two quanta and one segment are sent.
 *
 * <p>Only paced connections have a pacer. For a device that paces by itself, pass it {@link #rate()} instead.
 */
final class Pacer {
    private static final long SECOND_NANOS = 1_000_000_000L;
    private static final int BUCKET_QUANTA = 2;
    /**
     * Percentages of the window's rate, as Linux uses for controls without their own rate (tcp_pacing_ss_ratio,
     * tcp_pacing_ca_ratio).
     */
    private static final int SLOW_START_PERCENT = 200;
    private static final int AVOIDANCE_PERCENT = 120;
    static final int NOT_QUEUED = -1;

    /** Limit set by the user, in bytes per second; 0: no limit. */
    private long maxRate;
    /** Payload bytes per second; 0: no limit. */
    private long rate;
    private int quantumBytes = Integer.MAX_VALUE;
    /** Time at which the bucket was or will be empty. It lies in the future if data was sent ahead of the rate. */
    private long emptyNanos = Long.MIN_VALUE;
    /** Time from which data may be sent again. */
    private long resumeNanos = Long.MIN_VALUE;
    private boolean waiting;

    // position and time in PaceQueue
    int heapIndex = NOT_QUEUED;
    long queuedNanos;

    /** Sets the limit of the user (SO_MAX_PACING_RATE), in bytes per second; 0: no limit. */
    static void setMaxRate(TcpConnection c, long bytesPerSecond) {
        if (bytesPerSecond > 0 && c.pacer == null) {
            c.pacer = new Pacer();
        }
        Pacer p = c.pacer;
        if (p != null && p.maxRate != bytesPerSecond) {
            p.maxRate = bytesPerSecond;
            configure(c);
            p.capDebt(c.engine.now());
            Recovery.onPacingChange(c, c.engine.now());
        }
    }

    /** Limits the wait caused by data sent at an earlier rate to the time of one quantum at the present rate. */
    private void capDebt(long now) {
        long quantumNanos = rate == 0 ? 0 : nanosFor(quantumBytes);
        emptyNanos = Math.min(emptyNanos, now);
        resumeNanos = Math.min(resumeNanos, now + quantumNanos);
    }

    /** Creates or removes the pacer of a connection after its congestion control or settings have changed. */
    static void configure(TcpConnection c) {
        boolean wanted = c.rate != null || c.engine.config.pacing || c.pacer != null && c.pacer.maxRate > 0;
        if (wanted && c.pacer == null) {
            c.pacer = new Pacer();
        } else if (!wanted && c.pacer != null) {
            c.engine.paceQueue.remove(c);
            c.pacer = null;
        }
        if (c.pacer != null) {
            c.pacer.update(c);
        }
    }

    /** Recomputes the rate. Called after a change of the window, the RTT, the MSS or the control's rate. */
    void update(TcpConnection c) {
        long wanted = c.rate != null ? c.rate.control.pacingRate() : windowRate(c);
        rate = maxRate > 0 && (wanted == 0 || wanted > maxRate) ? maxRate : wanted;
        quantumBytes = rate == 0 ? Integer.MAX_VALUE : SendQuantum.bytes(rate, c.sndMss);
        if (rate == 0) {
            resumeNanos = Long.MIN_VALUE;
        }
    }

    /** Returns a rate slightly above one window per RTT, so that the window remains the limit. */
    private static long windowRate(TcpConnection c) {
        if (!c.engine.config.pacing || c.srttNanos == 0) {
            return 0;
        }
        boolean slowStart = c.ssthresh == CongestionControl.UNBOUNDED || c.cwnd < c.ssthresh / 2;
        double ratio = (slowStart ? SLOW_START_PERCENT : AVOIDANCE_PERCENT) / 100.0;
        return Math.max(1, (long) (ratio * c.cwnd * SECOND_NANOS / c.srttNanos));
    }

    /** Returns whether data may be sent now. If not, {@link #isWaiting} returns true until it may. */
    boolean checkOpen(long now) {
        waiting = now < resumeNanos;
        return !waiting;
    }

    /** Charges sent data to the bucket. */
    void onSent(int bytes, long now) {
        if (rate == 0) {
            return;
        }
        long quantumNanos = nanosFor(quantumBytes);
        emptyNanos = Math.max(emptyNanos, now - BUCKET_QUANTA * quantumNanos) + nanosFor(bytes);
        if (emptyNanos > now) {
            resumeNanos = emptyNanos + quantumNanos;
        }
    }

    private long nanosFor(int bytes) {
        return bytes * SECOND_NANOS / rate;
    }

    /** Returns whether data is waiting for {@link #resumeNanos}. */
    boolean isWaiting() {
        return waiting;
    }

    long resumeNanos() {
        return resumeNanos;
    }

    /** Returns the time at which data may be sent, at least {@code now}. */
    static long nextSendNanos(TcpConnection c, long now) {
        return c.pacer == null ? now : Math.max(now, c.pacer.resumeNanos);
    }

    /** Returns the maximum rate in payload bytes per second; 0: no limit. */
    long rate() {
        return rate;
    }

    /**
     * Returns the maximum size of a segment for segmentation offload: the content of the bucket, at most one
     * quantum. If less than a segment remains, callers send one segment.
     */
    int burstBytes(long now) {
        if (rate == 0) {
            return Integer.MAX_VALUE;
        }
        long left = now - Math.max(emptyNanos, now - BUCKET_QUANTA * nanosFor(quantumBytes));
        return (int) Math.min(quantumBytes, left * rate / SECOND_NANOS);
    }

    /**
     * Schedules the connection if its data waits for the pacer. Called when it has nothing more to send for now.
     *
     * @return true if the connection waits for the pacer, which then queues it in time
     */
    static boolean schedule(TcpConnection c) {
        Pacer p = c.pacer;
        SendState f = c.sendState;
        if (p.waiting && f != null) {
            c.engine.paceQueue.schedule(c, p.resumeNanos);
            return true;
        }
        p.waiting = false;
        c.engine.paceQueue.remove(c);
        return false;
    }
}
