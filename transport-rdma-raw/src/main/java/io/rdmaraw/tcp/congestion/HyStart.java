package io.rdmaraw.tcp.congestion;

import io.rdmaraw.tcp.segment.Sequence;

/**
 * HyStart++ (RFC 9406): ends slow start when the RTT rises, after a phase of slower growth ("conservative slow
 * start").
 */
final class HyStart {
    private static final long MIN_RTT_THRESHOLD_NANOS = 4_000_000;
    private static final long MAX_RTT_THRESHOLD_NANOS = 16_000_000;
    private static final int MIN_RTT_DIVISOR = 8;
    private static final int RTT_SAMPLES = 8;
    private static final int CSS_GROWTH_DIVISOR = 4;
    private static final int CSS_ROUNDS = 5;
    private static final long INFINITE = Long.MAX_VALUE;

    private long lastRoundMinRttNanos = INFINITE;
    private long currentRoundMinRttNanos = INFINITE;
    private long cssBaselineMinRttNanos = INFINITE;
    private int windowEnd;
    private byte samples;
    private byte cssRounds;
    private boolean started;
    private boolean conservative;

    /** Handles an RTT sample in slow start (section 4.2). */
    void onRttSample(CongestionWindow window, long rttNanos, int ackedSeq, int nextSeq) {
        if (!started || Sequence.afterOrAt(ackedSeq, windowEnd)) {
            startRound(window, nextSeq);
        }
        currentRoundMinRttNanos = Math.min(currentRoundMinRttNanos, rttNanos);
        if (samples < RTT_SAMPLES) {
            samples++;
        }
        if (samples < RTT_SAMPLES || currentRoundMinRttNanos == INFINITE || lastRoundMinRttNanos == INFINITE) {
            return;
        }
        if (conservative) {
            if (currentRoundMinRttNanos < cssBaselineMinRttNanos) {
                // The RTT has fallen again, so the rise was spurious.
                cssBaselineMinRttNanos = INFINITE;
                conservative = false;
            }
            return;
        }
        long threshold = Math.clamp(lastRoundMinRttNanos / MIN_RTT_DIVISOR, MIN_RTT_THRESHOLD_NANOS,
                MAX_RTT_THRESHOLD_NANOS);
        if (currentRoundMinRttNanos >= lastRoundMinRttNanos + threshold) {
            cssBaselineMinRttNanos = currentRoundMinRttNanos;
            conservative = true;
            cssRounds = 0;
        }
    }

    private void startRound(CongestionWindow window, int nextSeq) {
        if (started && conservative && ++cssRounds >= CSS_ROUNDS) {
            window.endSlowStart();
            conservative = false;
        }
        started = true;
        lastRoundMinRttNanos = currentRoundMinRttNanos;
        currentRoundMinRttNanos = INFINITE;
        samples = 0;
        windowEnd = nextSeq;
    }

    /** Returns the growth for an ACK (section 4.2), given the growth of standard slow start. */
    int growth(int slowStartGrowth) {
        return conservative ? slowStartGrowth / CSS_GROWTH_DIVISOR : slowStartGrowth;
    }
}
