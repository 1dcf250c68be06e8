package io.rdmaraw.testsuite.sim;

import java.util.function.BiConsumer;

/**
 * Runs the {@link AttackScenario} of one seed. A {@link StepCountingLoader} loads this class, so its interface uses
 * only JDK types.
 */
public final class HostileRun {
    private HostileRun() {
    }

    /**
     * Runs a seed.
     *
     * @param tap receives each packet with its time; may be null
     * @return the number of packets, then the violated rule and a description of the failure, or two nulls
     */
    public static Object[] run(long seed, BiConsumer<Long, byte[]> tap) {
        HostilePlan plan = new HostilePlan(seed);
        AttackScenario attack = new AttackScenario(plan, tap == null ? null : tap::accept);
        try {
            attack.run();
            return new Object[] {attack.packets(), null, null};
        } catch (SimulationFailure e) {
            String message = e.getMessage() + " (after " + attack.now() / 1000 + " us)";
            return new Object[] {attack.packets(), e.rule(), message};
        } catch (RuntimeException | AssertionError e) {
            return new Object[] {attack.packets(), "no exception", "exception " + e + Simulator.at(e)};
        }
    }
}
