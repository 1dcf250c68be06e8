package io.rdmaraw.tcp.congestion;

import io.rdmaraw.tcp.congestion.BbrProbing.AckPhase;

/**
 * BBR version 3 (draft-ietf-ccwg-bbr of 2026). It paces data at the measured bandwidth with about one
 * bandwidth-delay product in flight, probes periodically for more bandwidth, and derives upper bounds from
 * losses. An ECN mark counts as a loss in its round, as required by RFC 3168; the draft does not specify it.
 */
public final class Bbr implements RateBasedControl {
    static final String NAME = "bbr";

    /** States of section 5.3. */
    enum State { STARTUP, DRAIN, PROBE_DOWN, PROBE_CRUISE, PROBE_REFILL, PROBE_UP, PROBE_RTT }

    private static final double STARTUP_PACING_GAIN = 2.77;
    private static final double DRAIN_PACING_GAIN = 0.5;
    private static final double DOWN_PACING_GAIN = 0.9;
    private static final double UP_PACING_GAIN = 1.25;
    private static final double CWND_GAIN = 2;
    private static final double UP_CWND_GAIN = 2.25;
    private static final double PROBE_RTT_CWND_GAIN = 0.5;
    /** PacingMarginPercent: pace 1 % below the bandwidth so that queues drain. */
    private static final double PACING_MARGIN = 0.99;
    private static final int MIN_PIPE_SEGMENTS = 4;
    private static final int OFFLOAD_QUANTA = 3;
    private static final int INITIAL_SEGMENTS = 10;
    private static final int DRAIN_ROUNDS = 3;
    private static final int STARTUP_FULL_LOSSES = 6;
    private static final long PROBE_RTT_NANOS = 200_000_000L;
    private static final double MILLIS_PER_SECOND = 1e3;
    private static final double NANOS_PER_SECOND = 1e9;
    private static final int ETHERNET_SEGMENT_BYTES = 1460;

    final BbrModel model = new BbrModel();
    final BbrBounds bounds = new BbrBounds();
    private final BbrProbing probing = new BbrProbing(this);
    private State state = State.STARTUP;
    /** State to return to if the last losses turn out to be spurious; null for the present state. */
    private State undoState;
    private boolean started;
    private boolean rttSeen;
    /** BBR.bw: bandwidth of the path within the bounds, in bytes per second. */
    private long bw;
    private long pacingRate = (long) (STARTUP_PACING_GAIN * INITIAL_SEGMENTS * ETHERNET_SEGMENT_BYTES
            * MILLIS_PER_SECOND);
    private long drainStartRound;

    // the congestion window before recovery or ProbeRTT
    private int priorCwnd;
    private boolean inRecovery;
    /** A recovery has ended, and no loss was recorded since. */
    private boolean recoveryEnded;
    private boolean restoreCwnd;
    private boolean idleRestart;
    private boolean probeRttRoundDone;
    private long probeRttDoneNanos;

    // ---- events ----

    @Override
    public int onRateSample(CongestionWindow window, RateSample rs, long nowNanos) {
        if (!started) {
            started = true;
            model.start(nowNanos);
        }
        model.deliveredBytes = rs.totalDeliveredBytes;
        int cwnd = window.congestionWindowBytes();
        if (restoreCwnd) {
            restoreCwnd = false;
            cwnd = Math.max(cwnd, priorCwnd);
        }
        cwnd = updateModelAndState(window, rs, cwnd, nowNanos);
        if (!rttSeen && window.smoothedRttNanos() > 0) {
            // InitPacingRate, as soon as an RTT is known over which to pace the initial window.
            rttSeen = true;
            pacingRate = (long) (STARTUP_PACING_GAIN * initialWindow(window) * NANOS_PER_SECOND
                    / window.smoothedRttNanos());
        }
        setPacingRate(pacingGain());
        return setCwnd(window, rs, cwnd);
    }

    /** UpdateModelAndState. Returns the congestion window, which the end of ProbeRTT may have restored. */
    private int updateModelAndState(CongestionWindow window, RateSample rs, int cwnd, long nowNanos) {
        bounds.updateLatest(rs);
        model.updateMaxBw(rs);
        bounds.adapt(isProbingBandwidth(), model.maxBw(), cwnd);
        model.updateAckAggregation(rs, bw, cwnd, nowNanos);
        model.checkFullBwReached(rs);
        checkStartupDone(rs);
        checkDrainDone(window, rs, nowNanos);
        probing.update(window, rs, cwnd, nowNanos);
        model.updateMinRtt(rs, nowNanos);
        int restored = checkProbeRtt(window, rs, cwnd, nowNanos);
        bounds.advanceLatest(rs);
        bw = Math.min(model.maxBw(), bounds.bwShortTerm);
        return restored;
    }

    @Override
    public void onSegmentLost(CongestionWindow window, LostSegment lost, long nowNanos) {
        model.deliveredBytes = lost.totalDeliveredBytes;
        recordLoss(window);
        bounds.countLostRange(lost.startSeq, lost.lengthBytes);
        probing.onSegmentLost(window, lost, nowNanos);
    }

    /**
     * NoteLoss. SaveStateUponLoss is only performed at the start of a recovery (section 5.5.11.1). In the pseudocode,
     * NoteLoss performs it in each round trip. If a recovery of several round trips turned out to be spurious, its own
     * reductions would then be restored.
     */
    private void recordLoss(CongestionWindow window) {
        boolean first = bounds.recordLoss(model.deliveredBytes);
        if (!inRecovery && (first || recoveryEnded)) {
            recoveryEnded = false;
            saveCwnd(window.congestionWindowBytes());
            bounds.save();
            undoState = null;
        }
    }

    @Override
    public int onCongestion(CongestionWindow window, int flightBytes, long nowNanos) {
        saveCwnd(window.congestionWindowBytes());
        inRecovery = true;
        return UNBOUNDED;
    }

    @Override
    public int onEcnMark(CongestionWindow window, int flightBytes, long nowNanos) {
        recordLoss(window);
        return UNBOUNDED;
    }

    /** OnEnterRTO. The losses before the timeout are not undone with it. */
    @Override
    public void onTimeout(long nowNanos) {
        bounds.save();
        undoState = null;
    }

    @Override
    public void onRecoveryEnd() {
        inRecovery = false;
        recoveryEnded = true;
        restoreCwnd = true;
    }

    /** HandleSpuriousLossDetection. */
    @Override
    public void onUndo() {
        bounds.restore();
        model.resetFullBw();
        if (undoState == State.STARTUP && state != State.STARTUP) {
            model.fullBwReached = false;
            if (state != State.PROBE_RTT) {
                state = State.STARTUP;
            }
        } else if (undoState == State.PROBE_UP && state != State.PROBE_UP && state != State.PROBE_RTT) {
            probing.startRefill();
        }
        undoState = null;
    }

    /** HandleRestartFromIdle. */
    @Override
    public void onRestart(CongestionWindow window, long nowNanos) {
        idleRestart = true;
        model.restartExtraAcked(nowNanos);
        if (isProbeBw()) {
            setPacingRate(1);
        } else if (state == State.PROBE_RTT && isProbeRttOver(nowNanos)) {
            restoreCwnd = true;
            exitProbeRtt(nowNanos);
        }
    }

    // ---- states ----

    State state() {
        return state;
    }

    void enter(State next) {
        state = next;
    }

    void setUndoState(State before) {
        undoState = before;
    }

    boolean isProbeBw() {
        return state == State.PROBE_DOWN || state == State.PROBE_CRUISE || state == State.PROBE_REFILL
                || state == State.PROBE_UP;
    }

    private boolean isProbingBandwidth() {
        return state == State.STARTUP || state == State.PROBE_REFILL || state == State.PROBE_UP;
    }

    private void checkStartupDone(RateSample rs) {
        checkStartupHighLoss(rs);
        if (state == State.STARTUP && model.fullBwReached) {
            state = State.DRAIN;
            drainStartRound = model.roundCount;
        }
    }

    /** CheckStartupHighLoss, section 5.3.1.3. */
    private void checkStartupHighLoss(RateSample rs) {
        int ranges = bounds.pollLossRanges();
        if (state != State.STARTUP || model.fullBwReached || !rs.recovering
                || ranges < (rs.selectiveAcks ? STARTUP_FULL_LOSSES : 1)
                || !BbrBounds.isTooHigh(rs.lostBytes, rs.flightAtSendBytes, rs.selectiveAcks)) {
            return;
        }
        undoState = State.STARTUP;
        model.fullBwReached = true;
        bounds.inflightLongTerm = Math.max(bdp(model.maxBw(), 1), bounds.inflightLatest);
    }

    private void checkDrainDone(CongestionWindow window, RateSample rs, long nowNanos) {
        if (state == State.DRAIN && (rs.inFlightBytes <= inflight(window, bw, 1)
                || model.roundCount > drainStartRound + DRAIN_ROUNDS)) {
            probing.startDown(nowNanos);
        }
    }

    /** CheckProbeRTT, section 5.3.4.3. */
    private int checkProbeRtt(CongestionWindow window, RateSample rs, int cwnd, long nowNanos) {
        int result = cwnd;
        if (state != State.PROBE_RTT && model.probeRttExpired && !idleRestart) {
            saveCwnd(cwnd);
            state = State.PROBE_RTT;
            probeRttDoneNanos = 0;
            probing.phase(AckPhase.STOPPING);
            model.startRound();
        }
        if (state == State.PROBE_RTT) {
            rs.ignoreLowRates = true;
            if (probeRttDoneNanos == 0 && rs.inFlightBytes <= probeRttCwnd(window)) {
                probeRttDoneNanos = nowNanos + PROBE_RTT_NANOS;
                probeRttRoundDone = false;
                model.startRound();
            } else if (probeRttDoneNanos != 0) {
                probeRttRoundDone |= model.roundStart;
                if (probeRttRoundDone && isProbeRttOver(nowNanos)) {
                    result = Math.max(cwnd, priorCwnd);
                    exitProbeRtt(nowNanos);
                }
            }
        }
        if (rs.deliveredBytes > 0) {
            idleRestart = false;
        }
        return result;
    }

    private boolean isProbeRttOver(long nowNanos) {
        return probeRttDoneNanos != 0 && nowNanos - probeRttDoneNanos > 0;
    }

    private void exitProbeRtt(long nowNanos) {
        model.probeRttStampNanos = nowNanos;
        bounds.resetShortTerm();
        if (model.fullBwReached) {
            probing.startDown(nowNanos);
            state = State.PROBE_CRUISE;
        } else {
            state = State.STARTUP;
        }
    }

    // ---- control parameters, section 5.6 ----

    private double pacingGain() {
        return switch (state) {
            case STARTUP -> STARTUP_PACING_GAIN;
            case DRAIN -> DRAIN_PACING_GAIN;
            case PROBE_DOWN -> DOWN_PACING_GAIN;
            case PROBE_UP -> UP_PACING_GAIN;
            case PROBE_CRUISE, PROBE_REFILL, PROBE_RTT -> 1;
        };
    }

    private double cwndGain() {
        return state == State.PROBE_UP ? UP_CWND_GAIN : state == State.PROBE_RTT ? PROBE_RTT_CWND_GAIN : CWND_GAIN;
    }

    private void setPacingRate(double gain) {
        long rate = (long) (gain * bw * PACING_MARGIN);
        if (rate > 0 && (model.fullBwReached || rate > pacingRate)) {
            pacingRate = rate;
        }
    }

    @Override
    public long pacingRate() {
        return pacingRate;
    }

    private int initialWindow(CongestionWindow window) {
        return INITIAL_SEGMENTS * window.segmentBytes();
    }

    /** BDPMultiple; 0 if no RTT is known. */
    long bdp(long bandwidth, double gain) {
        return model.minRttNanos == BbrModel.UNKNOWN ? 0
                : (long) (gain * BbrModel.bytes(bandwidth, model.minRttNanos));
    }

    private long bdpOrInitial(CongestionWindow window, long bandwidth, double gain) {
        return model.minRttNanos == BbrModel.UNKNOWN ? initialWindow(window) : bdp(bandwidth, gain);
    }

    static long minPipe(CongestionWindow window) {
        return (long) MIN_PIPE_SEGMENTS * window.segmentBytes();
    }

    private long quantized(CongestionWindow window, long inflight) {
        long budget = (long) OFFLOAD_QUANTA * SendQuantum.bytes(pacingRate, window.segmentBytes());
        long quantizedBytes = Math.max(Math.max(inflight, budget), minPipe(window));
        return state == State.PROBE_UP ? quantizedBytes + 2L * window.segmentBytes() : quantizedBytes;
    }

    /** Inflight(gain). */
    long inflight(CongestionWindow window, long bandwidth, double gain) {
        return quantized(window, bdpOrInitial(window, bandwidth, gain));
    }

    /** TargetInflight. */
    long targetInflight(CongestionWindow window) {
        return Math.min(bdpOrInitial(window, bw, 1), window.congestionWindowBytes());
    }

    private long probeRttCwnd(CongestionWindow window) {
        return Math.max(bdpOrInitial(window, bw, PROBE_RTT_CWND_GAIN), minPipe(window));
    }

    private int setCwnd(CongestionWindow window, RateSample rs, int before) {
        long maxInflight = quantized(window, bdpOrInitial(window, bw, cwndGain()) + model.extraAckedBytes());
        long cwnd = before;
        if (model.fullBwReached) {
            cwnd = Math.min(cwnd + rs.newlyDeliveredBytes, maxInflight);
        } else if (cwnd < maxInflight || rs.totalDeliveredBytes < initialWindow(window)) {
            cwnd += rs.newlyDeliveredBytes;
        }
        cwnd = Math.max(cwnd, minPipe(window));
        if (state == State.PROBE_RTT) {
            cwnd = Math.min(cwnd, probeRttCwnd(window));
        }
        return (int) Math.min(Math.min(cwnd, modelBound(window)), Integer.MAX_VALUE / 2);
    }

    /** BoundCwndForModel. */
    private long modelBound(CongestionWindow window) {
        long bound = BbrBounds.NONE;
        if (state == State.PROBE_CRUISE || state == State.PROBE_RTT) {
            bound = bounds.withHeadroom(window.segmentBytes(), minPipe(window));
        } else if (isProbeBw()) {
            bound = bounds.inflightLongTerm;
        }
        return Math.max(Math.min(bound, bounds.inflightShortTerm), minPipe(window));
    }

    private void saveCwnd(int cwnd) {
        priorCwnd = inRecovery || state == State.PROBE_RTT ? Math.max(priorCwnd, cwnd) : cwnd;
    }

    @Override
    public String name() {
        return NAME;
    }
}
