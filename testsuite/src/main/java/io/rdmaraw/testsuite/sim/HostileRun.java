package io.rdmaraw.testsuite.sim;

import java.util.function.BiConsumer;

/**
 * One seed's {@link Siege}, called through a {@link StepCountingLoader}: only types of the JDK pass between the two
 * sides.
 */
public final class HostileRun {
    private HostileRun() {
    }

    /**
     * Runs a seed.
     *
     * @param tap what sees the packets with their times; null for nobody
     * @return the number of packets; and when a rule was broken, the rule and what happened
     */
    public static Object[] run(long seed, BiConsumer<Long, byte[]> tap) {
        HostilePlan plan = new HostilePlan(seed);
        Siege siege = new Siege(plan, tap == null ? null : tap::accept);
        try {
            siege.run();
            return new Object[] {siege.packets(), null, null};
        } catch (SimulationFailure e) {
            return new Object[] {siege.packets(), e.rule(), e.getMessage() + " (after " + siege.now() / 1000 + " us)"};
        } catch (RuntimeException | AssertionError e) {
            return new Object[] {siege.packets(), "no exception", "exception " + e + Simulator.at(e)};
        }
    }
}
