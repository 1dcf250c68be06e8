package io.rdmaraw.tcp;

import io.rdmaraw.tcp.congestion.CongestionControl;
import io.rdmaraw.tcp.congestion.SendQuantum;
import io.rdmaraw.tcp.send.Flight;

/**
 * The gate that keeps a connection's data to a rate: a bucket that fills at that rate and holds two quanta. Data leaves
 * until the bucket is empty; the next leaves when it holds a quantum again, so that a burst is worth its doorbell. One
 * that is late by less than a quantum's time loses nothing of its rate. So in a time T no more than rate * T, two
 * quanta and a segment leave.
 *
 * <p>Only connections that are paced have one. A device that paces by itself may be given {@link #rate()} instead.
 */
final class Pacer {
    private static final long SECOND_NANOS = 1_000_000_000L;
    private static final int BUCKET_QUANTA = 2;
    /** As Linux has it without a control that says (tcp_pacing_ss_ratio, tcp_pacing_ca_ratio), in percent. */
    private static final int SLOW_START_PERCENT = 200;
    private static final int AVOIDANCE_PERCENT = 120;
    static final int NOT_QUEUED = -1;

    /** What the user allows; 0: no limit. */
    private long maxRate;
    /** Bytes of payload per second; 0: no limit. */
    private long rate;
    private int quantumBytes = Integer.MAX_VALUE;
    /** When the bucket is empty, by what has left: it may lie ahead. */
    private long emptyNanos = Long.MIN_VALUE;
    /** When data may leave again. */
    private long openNanos = Long.MIN_VALUE;
    private boolean waits;

    // in PaceQueue
    int place = NOT_QUEUED;
    long queuedNanos;

    /** Sets what the user allows (SO_MAX_PACING_RATE), in bytes per second; 0: no limit. */
    static void limit(TcpConnection c, long bytesPerSecond) {
        if (bytesPerSecond > 0 && c.pacer == null) {
            c.pacer = new Pacer();
        }
        Pacer p = c.pacer;
        if (p != null && p.maxRate != bytesPerSecond) {
            p.maxRate = bytesPerSecond;
            configure(c);
            p.forgetDebt(c.engine.now());
            Recovery.onPacingChange(c, c.engine.now());
        }
    }

    /** What left at a former rate holds nothing back at the present one, beyond a quantum's time. */
    private void forgetDebt(long now) {
        long quantumNanos = rate == 0 ? 0 : nanosFor(quantumBytes);
        emptyNanos = Math.min(emptyNanos, now);
        openNanos = Math.min(openNanos, now + quantumNanos);
    }

    /** Gives a connection a pacer, or takes it away: after its congestion control or its settings have changed. */
    static void configure(TcpConnection c) {
        boolean wanted = c.rate != null || c.engine.config.pacing || c.pacer != null && c.pacer.maxRate > 0;
        if (wanted && c.pacer == null) {
            c.pacer = new Pacer();
        } else if (!wanted && c.pacer != null) {
            c.engine.paced.remove(c);
            c.pacer = null;
        }
        if (c.pacer != null) {
            c.pacer.update(c);
        }
    }

    /** The window, the round trip, the length of segments or the control's mind have changed. */
    void update(TcpConnection c) {
        long wanted = c.rate != null ? c.rate.control.pacingRate() : windowRate(c);
        rate = maxRate > 0 && (wanted == 0 || wanted > maxRate) ? maxRate : wanted;
        quantumBytes = rate == 0 ? Integer.MAX_VALUE : SendQuantum.bytes(rate, c.sndMss);
        if (rate == 0) {
            openNanos = Long.MIN_VALUE;
        }
    }

    /** Somewhat more than a window in a round trip, so that it is the window that limits. */
    private static long windowRate(TcpConnection c) {
        if (!c.engine.config.pacing || c.srttNanos == 0) {
            return 0;
        }
        boolean slowStart = c.ssthresh == CongestionControl.UNBOUNDED || c.cwnd < c.ssthresh / 2;
        double ratio = (slowStart ? SLOW_START_PERCENT : AVOIDANCE_PERCENT) / 100.0;
        return Math.max(1, (long) (ratio * c.cwnd * SECOND_NANOS / c.srttNanos));
    }

    /** Whether data may leave; if not, {@link #waits} until it may. */
    boolean isOpen(long now) {
        waits = now < openNanos;
        return !waits;
    }

    /** Data has left. */
    void onSent(int bytes, long now) {
        if (rate == 0) {
            return;
        }
        long quantumNanos = nanosFor(quantumBytes);
        emptyNanos = Math.max(emptyNanos, now - BUCKET_QUANTA * quantumNanos) + nanosFor(bytes);
        if (emptyNanos > now) {
            openNanos = emptyNanos + quantumNanos;
        }
    }

    private long nanosFor(int bytes) {
        return bytes * SECOND_NANOS / rate;
    }

    /** Data waits, or may wait, until {@link #openNanos}. */
    boolean waits() {
        return waits;
    }

    long openNanos() {
        return openNanos;
    }

    /** Returns when data may leave, which is not before {@code now}. */
    static long leavesNanos(TcpConnection c, long now) {
        return c.pacer == null ? now : Math.max(now, c.pacer.openNanos);
    }

    /** Bytes per second of payload that leave at most; 0: no limit. */
    long rate() {
        return rate;
    }

    /**
     * What a device may be given to cut at once: what the bucket holds, a quantum at most. Less than a segment stands
     * for one.
     */
    int burstBytes(long now) {
        if (rate == 0) {
            return Integer.MAX_VALUE;
        }
        long left = now - Math.max(emptyNanos, now - BUCKET_QUANTA * nanosFor(quantumBytes));
        return (int) Math.min(quantumBytes, left * rate / SECOND_NANOS);
    }

    /**
     * The connection has nothing more to send for now.
     *
     * @return whether it is for the pacer; then it comes up again in time
     */
    static boolean settle(TcpConnection c) {
        Pacer p = c.pacer;
        Flight f = c.flight;
        if (p.waits && f != null) {
            c.engine.paced.schedule(c, p.openNanos);
            return true;
        }
        p.waits = false;
        c.engine.paced.remove(c);
        return false;
    }
}
