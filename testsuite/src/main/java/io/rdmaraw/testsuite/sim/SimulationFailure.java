package io.rdmaraw.testsuite.sim;

/** An invariant does not hold. */
final class SimulationFailure extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final String rule;

    SimulationFailure(String rule, String detail) {
        super(rule + ": " + detail);
        this.rule = rule;
    }

    /** Returns the name of the rule that was broken; shrinking keeps to it. */
    String rule() {
        return rule;
    }

    static void check(boolean holds, String rule, String detail) {
        if (!holds) {
            throw new SimulationFailure(rule, detail);
        }
    }
}
