package io.rdmaraw.loop;

import java.util.random.RandomGenerator;

/**
 * Decides whether a loop polls for a while before it sleeps. A spin that finds a frame saves a sleep and a
 * wake-up. If spins cost more than they save, the loop sleeps at once and tries a spin only occasionally. For
 * one loop.
 *
 * <p>The assumed cost of a sleep is a fraction of the maximum spin. A longer spin setting thus also means that
 * a low latency is worth more CPU time.
 */
public final class SpinPolicy {
    /**
     * A spin that finds a frame is worth the maximum spin divided by this. At the default of 20 us, the value is
     * twice the CPU time of a sleep and a wake-up; the excess accounts for the lower latency.
     */
    private static final int WORTH_DIVISOR = 2;
    /** Number of consecutive full-length spins without a frame after which the loop spins only occasionally. */
    private static final int MAX_FRUITLESS_SPINS = 4;
    /**
     * Approximate number of waits between two trials, which detect a change of the load. It doubles after each
     * failed trial.
     */
    private static final int MIN_TRIAL_INTERVAL = 16;
    private static final int MAX_TRIAL_INTERVAL = 128;
    /**
     * Number of consecutive waits in a trial. Trials start at random times: if two loops exchange messages,
     * spinning pays only when both spin at the same time.
     */
    private static final int TRIAL_SPINS = 4;

    private final long spinNanos;
    private final RandomGenerator random;
    /** Time saved by spins minus time spent, limited in both directions. If negative, spins are rare. */
    private long balanceNanos;
    private int trialInterval = MIN_TRIAL_INTERVAL;
    private int waitsUntilTrial;
    private int trialSpinsLeft;

    /**
     * @param spinNanos maximum duration of a spin
     * @param random    determines the times of trials
     */
    public SpinPolicy(long spinNanos, RandomGenerator random) {
        this.random = random;
        this.spinNanos = Math.min(spinNanos, Long.MAX_VALUE / (2 * MAX_FRUITLESS_SPINS));
        balanceNanos = maxNanos();
    }

    private long maxNanos() {
        return MAX_FRUITLESS_SPINS * spinNanos - 1;
    }

    /** Returns whether the next wait should begin with a spin. */
    public boolean shouldSpin() {
        return balanceNanos >= 0 || --waitsUntilTrial <= 0;
    }

    /**
     * Reports the end of a spin.
     *
     * @param foundFrame whether the spin found a frame
     * @param nanos duration of the spin
     */
    public void spinEnded(boolean foundFrame, long nanos) {
        long worthNanos = foundFrame ? spinNanos / WORTH_DIVISOR : 0;
        if (balanceNanos >= 0) {
            balanceNanos = Math.min(balanceNanos + worthNanos - nanos, maxNanos());
            if (balanceNanos < 0) {
                trialInterval = MIN_TRIAL_INTERVAL;
                awaitTrial();
            }
        } else if (worthNanos >= nanos) {
            balanceNanos = maxNanos();
        } else if (--trialSpinsLeft == 0) {
            trialInterval = Math.min(2 * trialInterval, MAX_TRIAL_INTERVAL);
            awaitTrial();
        }
    }

    private void awaitTrial() {
        trialSpinsLeft = TRIAL_SPINS;
        waitsUntilTrial = trialInterval / 2 + random.nextInt(trialInterval);
    }
}
