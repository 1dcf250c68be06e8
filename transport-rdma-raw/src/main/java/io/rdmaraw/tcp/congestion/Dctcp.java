package io.rdmaraw.tcp.congestion;

import io.rdmaraw.tcp.segment.Sequence;

/**
 * DCTCP (RFC 8257): reduces the window in proportion to the share of marked data. For networks in which all
 * switches mark early and all hosts use DCTCP. Between marks, and after losses, it behaves like NewReno.
 */
public final class Dctcp implements CongestionControl {
    static final String NAME = "dctcp";
    /** Section 3.3: g, the weight of a new sample. */
    private static final double GAIN = 1.0 / 16;

    private final NewReno reno = new NewReno();
    /** DCTCP.Alpha: estimated share of marked data. It starts at 1, so that the first mark halves the window. */
    private double alpha = 1;
    private long ackedBytes;
    private long markedBytes;
    private int windowEnd;
    private boolean started;

    @Override
    public boolean countsMarks() {
        return true;
    }

    @Override
    public void onMarksEchoed(int newlyAckedBytes, int newlyMarkedBytes, int ackedSeq, int nextSeq) {
        if (!started) {
            // Section 3.3: DCTCP.WindowEnd is initialized to SND.UNA.
            started = true;
            windowEnd = ackedSeq - newlyAckedBytes;
        }
        // Section 3.3, steps 1 to 8
        ackedBytes += newlyAckedBytes;
        markedBytes += newlyMarkedBytes;
        if (!Sequence.after(ackedSeq, windowEnd)) {
            return;
        }
        alpha += GAIN * ((double) markedBytes / ackedBytes - alpha);
        windowEnd = nextSeq;
        ackedBytes = 0;
        markedBytes = 0;
    }

    /** Section 3.3, step 9. */
    @Override
    public int onEcnMark(CongestionWindow window, int flightBytes, long nowNanos) {
        return Math.max((int) (window.congestionWindowBytes() * (1 - alpha / 2)), 2 * window.segmentBytes());
    }

    /** Section 3.4: a loss is handled as in standard TCP. */
    @Override
    public int onCongestion(CongestionWindow window, int flightBytes, long nowNanos) {
        return reno.onCongestion(window, flightBytes, nowNanos);
    }

    @Override
    public int onAcked(CongestionWindow window, int newlyAckedBytes, long nowNanos) {
        return reno.onAcked(window, newlyAckedBytes, nowNanos);
    }

    @Override
    public String name() {
        return NAME;
    }
}
