package io.rdmaraw.loop;

import java.util.random.RandomGenerator;

/**
 * Whether polling on before a sleep is worth it. A spin that finds a frame spares the loop a sleep and a wake-up; where
 * that costs less than the spins do, the loop sleeps at once, and only a wait now and then tries. For one loop.
 *
 * <p>What a sleep is worth is said in parts of the longest spin: so whoever has loops spin longer says that a short
 * latency is worth more of the processor's time.
 */
public final class SpinPolicy {
    /**
     * A frame found is worth this part of the longest spin. At the default of 20 us that is twice the processor time of
     * a sleep and a wake-up; the other half is for the answer that comes sooner.
     */
    private static final int WORTH_PART = 2;
    /** So many of the longest spins may be in vain in a row before spins become rare. */
    private static final int PATIENCE = 4;
    /** Waits between trials, about, to find out whether times have changed; more while they have not. */
    private static final int SHORTEST_TRIAL_INTERVAL = 16;
    private static final int LONGEST_TRIAL_INTERVAL = 128;
    /**
     * A trial is so many waits in a row, at times that nobody can foresee: two loops that answer each other find out
     * that spins pay only when both try at once.
     */
    private static final int TRIAL_SPINS = 4;

    private final long spinNanos;
    private final RandomGenerator random;
    /** What spins have spared, without what they have cost, as far as it is remembered. Negative: spins are rare. */
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
