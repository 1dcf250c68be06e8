package io.rdmaraw.tools.bench.server;

/**
 * The rate at which every transport is asked when it shall be the same for all: a share of what the slowest of them
 * answered when it was asked as fast as it goes, or of what the user wants.
 */
final class EqualLoad {
    private static final double PERCENT = 100;
    /** What there is to choose from: a round number is easier to ask for again. */
    private static final double STEP = 100;

    private final double wanted;
    private double slowest = Double.POSITIVE_INFINITY;
    private double whole;

    /** @param wanted requests per second that are the whole load, or 0 for what the slowest answers */
    EqualLoad(double wanted) {
        this.wanted = wanted;
    }

    /** A transport answered so many requests per second, asked as fast as it goes. */
    void answered(double perSecond) {
        slowest = Math.min(slowest, perSecond);
    }

    /** Returns a share of the load in requests per second. What the whole is has been settled once it is asked for. */
    double perSecond(int percent) {
        if (whole == 0) {
            whole = wanted > 0 ? wanted : slowest;
        }
        return Math.max(STEP, Math.floor(whole * percent / PERCENT / STEP) * STEP);
    }
}
