package io.rdmaraw.loop;

import java.util.random.RandomGenerator;

/**
 * Whether polling on before a sleep is worth it. A spin that finds a frame spares the loop a sleep and a wake-up; where
 * that costs less than the spins do, the loop sleeps at once and tries a spin only occasionally. For one loop.
 *
 * <p>The cost of a sleep is a fraction of the longest spin. A longer spin setting therefore also means that a short
 * latency is worth more processor time.
 */
public final class SpinPolicy {
    /**
     * A frame found is worth this part of the longest spin. At the default of 20 us that is twice the processor time of
     * a sleep and a wake-up; the other half is for the answer that comes sooner.
     */
    private static final int WORTH_PART = 2;
    /** Number of consecutive full-length spins without a frame after which the loop spins only occasionally. */
    private static final int PATIENCE = 4;
    /** Approximate number of waits between trials, which find out whether the load has changed; it grows meanwhile. */
    private static final int SHORTEST_TRIAL_INTERVAL = 16;
    private static final int LONGEST_TRIAL_INTERVAL = 128;
    /**
     * Number of consecutive waits of a trial. Trials come at random times: of two loops that answer each other, spins
     * pay only when both try at once.
     */
    private static final int TRIAL_SPINS = 4;

    private final long spinNanos;
    private final RandomGenerator random;
    /** What spins have saved less what they have cost, bounded on both sides. Negative: spins are rare. */
    private long balanceNanos;
    private int trialInterval = SHORTEST_TRIAL_INTERVAL;
    private int waitsUntilTrial;
    private int trialSpinsLeft;

    /**
     * @param spinNanos how long a spin may last
     * @param random    when trials are
     */
    public SpinPolicy(long spinNanos, RandomGenerator random) {
        this.random = random;
        this.spinNanos = Math.min(spinNanos, Long.MAX_VALUE / (2 * PATIENCE));
        balanceNanos = mostNanos();
    }

    private long mostNanos() {
        return PATIENCE * spinNanos - 1;
    }

    /** Returns whether this wait begins with a spin. */
    public boolean isWorthwhile() {
        return balanceNanos >= 0 || --waitsUntilTrial <= 0;
    }

    /** The spin ended after this time; {@code found} says whether a frame had come. */
    public void ended(boolean found, long nanos) {
        long worthNanos = found ? spinNanos / WORTH_PART : 0;
        if (balanceNanos >= 0) {
            balanceNanos = Math.min(balanceNanos + worthNanos - nanos, mostNanos());
            if (balanceNanos < 0) {
                trialInterval = SHORTEST_TRIAL_INTERVAL;
                awaitTrial();
            }
        } else if (worthNanos >= nanos) {
            balanceNanos = mostNanos();
        } else if (--trialSpinsLeft == 0) {
            trialInterval = Math.min(2 * trialInterval, LONGEST_TRIAL_INTERVAL);
            awaitTrial();
        }
    }

    private void awaitTrial() {
        trialSpinsLeft = TRIAL_SPINS;
        waitsUntilTrial = trialInterval / 2 + random.nextInt(trialInterval);
    }
}
