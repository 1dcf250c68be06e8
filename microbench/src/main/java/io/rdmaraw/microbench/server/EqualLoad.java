package io.rdmaraw.microbench.server;

/**
 * The request rate that is the same for all transports: a share of what the slowest of them answered at full speed, or
 * of what the user asks for.
 */
final class EqualLoad {
    private static final double PERCENT = 100;
    /** Rates are multiples of this, because a round number is easier to repeat. */
    private static final double STEP = 100;

    private final double wanted;
    private double slowest = Double.POSITIVE_INFINITY;
    private double whole;

    /** @param wanted requests per second that are the whole load, or 0 for what the slowest answers */
    EqualLoad(double wanted) {
        this.wanted = wanted;
    }

    /** Records the answers per second of a transport at full speed. */
    void answered(double perSecond) {
        slowest = Math.min(slowest, perSecond);
    }

    /** Returns a share of the full load in requests per second. The full load is fixed by the first call. */
    double perSecond(int percent) {
        if (whole == 0) {
            whole = wanted > 0 ? wanted : slowest;
        }
        return Math.max(STEP, Math.floor(whole * percent / PERCENT / STEP) * STEP);
    }
}
