package io.rdmaraw.tcp;

/**
 * Smoothed RTT and retransmission timeout (RFC 6298), and the minimum RTT of the last five minutes (RFC 8985
 * section 6.2).
 */
final class RttEstimator {
    private static final long MIN_RTT_WINDOW_NANOS = 300_000_000_000L;

    private RttEstimator() {
    }

    static void start(TcpConnection c) {
        c.srttNanos = 0;
        c.rttvarNanos = 0;
        c.rtoNanos = c.engine.config.initialRtoNanos;
        c.backoff = 0;
    }

    static void sample(TcpConnection c, long rttNanos) {
        long rtt = Math.max(1, rttNanos);
        if (c.srttNanos == 0) {
            // (2.2) first sample
            c.srttNanos = rtt;
            c.rttvarNanos = rtt / 2;
        } else {
            // (2.3) with alpha 1/8 and beta 1/4
            c.rttvarNanos += (Math.abs(c.srttNanos - rtt) - c.rttvarNanos) / 4;
            c.srttNanos = Math.max(1, c.srttNanos + (rtt - c.srttNanos) / 8);
        }
        TcpConfig config = c.engine.config;
        // (2.3) to (2.5). The lower bound is configurable, as all stacks use less than 1 s. As in Linux, it
        // bounds the variance term instead of the sum. On a steady path that term approaches 0, but the peer may
        // still delay its ACKs.
        c.rtoNanos = Math.min(c.srttNanos + Math.max(config.minRtoNanos, 4 * c.rttvarNanos), config.maxRtoNanos);
        // Section 5: a sample ends the backoff.
        c.backoff = 0;
    }

    static void sampleMinimum(TcpConnection c, long rttNanos, long now) {
        if (rttNanos <= c.minRttNanos || now - c.minRttStampNanos > MIN_RTT_WINDOW_NANOS) {
            c.minRttNanos = Math.max(1, rttNanos);
            c.minRttStampNanos = now;
        }
    }

    /** Returns the timeout including its backoff (5.5), limited by the maximum RTO. */
    static long backedOffRtoNanos(TcpConnection c) {
        long cap = c.engine.config.maxRtoNanos;
        return c.backoff == 0 ? c.rtoNanos : c.backoff > 20 ? cap : Math.min(cap, c.rtoNanos << c.backoff);
    }
}
