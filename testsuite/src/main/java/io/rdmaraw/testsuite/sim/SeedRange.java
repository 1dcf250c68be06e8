package io.rdmaraw.testsuite.sim;

/** Runs a range of seeds on one thread, for tests. */
public final class SeedRange {
    private SeedRange() {
    }

    /** Returns a one-line description of the failure of the first failing seed from {@code from} on, or null. */
    public static String firstFailure(long from, long seeds) {
        Simulator simulator = new Simulator(EngineHost::new, null);
        for (long seed = from; seed < from + seeds; seed++) {
            Simulator.Failure failure = simulator.run(seed, 0);
            if (failure != null) {
                return "seed " + seed + ": " + failure.message();
            }
        }
        return null;
    }
}
