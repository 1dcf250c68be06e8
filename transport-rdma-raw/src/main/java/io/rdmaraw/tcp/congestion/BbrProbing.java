package io.rdmaraw.tcp.congestion;

import io.rdmaraw.tcp.congestion.Bbr.State;

/**
 * The ProbeBW cycle of {@link Bbr}: down, cruise, refill, up (draft-ietf-ccwg-bbr section 5.3.3), and the
 * long-term bound of data in flight that results from it.
 */
final class BbrProbing {
    /** Phase of the probe to which the present ACKs belong. */
    enum AckPhase { INIT, REFILLING, STARTING, FEEDBACK, STOPPING }

    private static final int RENO_ROUNDS = 63;
    private static final int MAX_UP_ROUNDS = 30;
    private static final long MIN_WAIT_NANOS = 2_000_000_000L;
    private static final long WAIT_SPREAD_NANOS = 1_000_000_000L;

    private final Bbr bbr;
    private final BbrModel model;
    private final BbrBounds bounds;
    private AckPhase ackPhase = AckPhase.INIT;
    /**
     * Whether the data being acknowledged or lost was sent while probing. Its losses then show whether the probe sent
     * too much.
     */
    private boolean probeSample;
    /** Whether the last probe that ended lost too much. */
    private boolean previousProbeTooHigh;
    /** Whether the last probe ended early, as a precaution. */
    private boolean previousProbeStoppedEarly;
    private long cycleStampNanos;
    private long waitNanos;
    private int upRounds;
    private long upAckedBytes;
    private long upAckedPerSegment = Long.MAX_VALUE;

    BbrProbing(Bbr bbr) {
        this.bbr = bbr;
        model = bbr.model;
        bounds = bbr.bounds;
    }

    void phase(AckPhase phase) {
        ackPhase = phase;
    }

    /** UpdateProbeBWCyclePhase. */
    void update(CongestionWindow window, RateSample rs, int cwnd, long nowNanos) {
        if (!model.fullBwReached || adaptLongTerm(window, rs, cwnd) || !bbr.isProbeBw()) {
            return;
        }
        switch (bbr.state()) {
            case PROBE_DOWN -> {
                if (isTimeToProbe(window, nowNanos)) {
                    startRefill();
                } else if (isTimeToCruise(window, rs)) {
                    bbr.enter(State.PROBE_CRUISE);
                }
            }
            case PROBE_CRUISE -> {
                if (isTimeToProbe(window, nowNanos)) {
                    startRefill();
                }
            }
            case PROBE_REFILL -> {
                if (model.roundStart) {
                    // Data acknowledged from now on was sent with a full pipe.
                    probeSample = true;
                    startUp(window, rs, cwnd);
                }
            }
            default -> {
                if (isTimeToGoDown(rs, cwnd)) {
                    previousProbeTooHigh = false;
                    startDown(nowNanos);
                }
            }
        }
    }

    // ---- transitions ----

    void startDown(long nowNanos) {
        bounds.resetSignals();
        upAckedPerSegment = Long.MAX_VALUE;
        pickWait(nowNanos);
        cycleStampNanos = nowNanos;
        ackPhase = AckPhase.STOPPING;
        model.startRound();
        bbr.enter(State.PROBE_DOWN);
    }

    /**
     * Selects the time until the next probe: two to three seconds, or a number of rounds. It is random so that
     * flows do not probe in step.
     */
    private void pickWait(long nowNanos) {
        long random = (nowNanos ^ nowNanos >>> 29) * 0xBF58_476D_1CE4_E5B9L;
        random ^= random >>> 32;
        model.roundsSinceProbeUp = random & 1;
        waitNanos = MIN_WAIT_NANOS + (random >>> 1) % WAIT_SPREAD_NANOS;
    }

    void startRefill() {
        bounds.resetShortTerm();
        upRounds = 0;
        upAckedBytes = 0;
        previousProbeStoppedEarly = false;
        ackPhase = AckPhase.REFILLING;
        model.startRound();
        bbr.enter(State.PROBE_REFILL);
    }

    private void startUp(CongestionWindow window, RateSample rs, int cwnd) {
        ackPhase = AckPhase.STARTING;
        model.startRound();
        model.resetFullBw(rs.deliveryRate);
        bbr.enter(State.PROBE_UP);
        raiseSlope(window, cwnd);
    }

    private boolean isTimeToProbe(CongestionWindow window, long nowNanos) {
        long renoRounds = bbr.targetInflight(window) / window.segmentBytes();
        return nowNanos - cycleStampNanos > waitNanos
                || model.roundsSinceProbeUp >= Math.min(renoRounds, RENO_ROUNDS);
    }

    private boolean isTimeToCruise(CongestionWindow window, RateSample rs) {
        return rs.inFlightBytes <= bounds.withHeadroom(window.segmentBytes(), Bbr.minPipe(window))
                && rs.inFlightBytes <= bbr.inflight(window, model.maxBw(), 1);
    }

    private boolean isTimeToGoDown(RateSample rs, int cwnd) {
        if (previousProbeTooHigh && rs.inFlightBytes >= bounds.inflightLongTerm) {
            // Deceleration: the previous probe lost too much at this level.
            previousProbeStoppedEarly = true;
            return true;
        }
        if (rs.windowLimited && cwnd >= bounds.inflightLongTerm) {
            // The bound limits the data in flight, so a constant bandwidth does not show a full pipe yet.
            model.resetFullBw(rs.deliveryRate);
            return false;
        }
        return model.fullBwNow;
    }

    // ---- the long-term bound ----

    private void raiseSlope(CongestionWindow window, int cwnd) {
        long growth = 1L << upRounds;
        upRounds = Math.min(upRounds + 1, MAX_UP_ROUNDS);
        upAckedPerSegment = Math.max(cwnd / growth, window.segmentBytes());
    }

    private void probeUpward(CongestionWindow window, RateSample rs, int cwnd) {
        if (!rs.windowLimited || cwnd < bounds.inflightLongTerm) {
            return;
        }
        upAckedBytes += rs.newlyDeliveredBytes;
        if (upAckedBytes >= upAckedPerSegment) {
            long delta = upAckedBytes / upAckedPerSegment;
            upAckedBytes -= delta * upAckedPerSegment;
            bounds.inflightLongTerm += delta * window.segmentBytes();
        }
        if (model.roundStart) {
            raiseSlope(window, cwnd);
        }
    }

    /** AdaptLongTermModel. Returns whether it has entered a new state. */
    private boolean adaptLongTerm(CongestionWindow window, RateSample rs, int cwnd) {
        if (ackPhase == AckPhase.STARTING && model.roundStart) {
            ackPhase = AckPhase.FEEDBACK;
        }
        if (ackPhase == AckPhase.STOPPING && model.roundStart) {
            probeSample = false;
            ackPhase = AckPhase.INIT;
            if (bbr.isProbeBw() && !rs.appLimited) {
                model.advanceMaxBwFilter();
            }
            if (bbr.isProbeBw() && previousProbeStoppedEarly && !previousProbeTooHigh) {
                // Acceleration: the last probe was ended early as a precaution, but lost little. There may be
                // more bandwidth.
                startRefill();
                return true;
            }
        }
        if (bounds.inflightLongTerm == BbrBounds.NONE
                || BbrBounds.isTooHigh(rs.lostBytes, rs.flightAtSendBytes, rs.selectiveAcks)) {
            return false;
        }
        bounds.inflightLongTerm = Math.max(bounds.inflightLongTerm, rs.flightAtSendBytes);
        if (bbr.state() == State.PROBE_UP) {
            probeUpward(window, rs, cwnd);
        }
        return false;
    }

    /** HandleLostPacket and HandleInflightTooHigh. */
    void onSegmentLost(CongestionWindow window, LostSegment lost, long nowNanos) {
        if (!probeSample || !BbrBounds.isTooHigh(lost.lostSinceSentBytes, lost.flightAtSendBytes,
                lost.selectiveAcks)) {
            return;
        }
        previousProbeTooHigh = true;
        probeSample = false;
        if (!lost.appLimited) {
            long safe = BbrBounds.inflightAtLoss(lost);
            bounds.inflightLongTerm = Math.max(safe, (long) (BbrBounds.BETA * bbr.targetInflight(window)));
        }
        if (bbr.state() == State.PROBE_UP) {
            bbr.setUndoState(State.PROBE_UP);
            startDown(nowNanos);
        }
    }
}
