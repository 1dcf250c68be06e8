package io.rdmaraw.microbench.server;

/**
 * A request rate that is the same for all transports: a share of the maximum rate of the slowest transport, or of a
 * rate that the user sets.
 */
final class EqualLoad {
    private static final double PERCENT = 100;
    /** Rates are multiples of this step, because round numbers are easier to reproduce. */
    private static final double STEP = 100;

    private final double wanted;
    private double slowest = Double.POSITIVE_INFINITY;
    private double whole;

    /** @param wanted requests per second at full load, or 0 for the maximum of the slowest transport */
    EqualLoad(double wanted) {
        this.wanted = wanted;
    }

    /** Records the rate of a transport at full speed, in answers per second. */
    void answered(double perSecond) {
        slowest = Math.min(slowest, perSecond);
    }

    /** Returns a share of the full load in requests per second. The first call fixes the full load. */
    double perSecond(int percent) {
        if (whole == 0) {
            whole = wanted > 0 ? wanted : slowest;
        }
        return Math.max(STEP, Math.floor(whole * percent / PERCENT / STEP) * STEP);
    }
}
