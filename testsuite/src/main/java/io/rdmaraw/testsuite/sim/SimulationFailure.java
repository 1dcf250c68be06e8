package io.rdmaraw.testsuite.sim;

/** Reports a violated invariant. */
final class SimulationFailure extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final String rule;

    SimulationFailure(String rule, String detail) {
        super(rule + ": " + detail);
        this.rule = rule;
    }

    /** Returns the name of the violated rule. Shrinking looks for failures of the same rule. */
    String rule() {
        return rule;
    }

    static void check(boolean holds, String rule, String detail) {
        if (!holds) {
            throw new SimulationFailure(rule, detail);
        }
    }
}
