package io.rdmaraw.testsuite.sim;

/**
 * SplitMix64 (Steele, Lea, Flood 2014): a small random source. Its definition fixes the sequence, so a seed means
 * the same run on every JDK. Sources made by {@link #split} are independent of each other.
 */
public final class SplitMix {
    private static final long GOLDEN_GAMMA = 0x9e37_79b9_7f4a_7c15L;
    private long state;

    /** Creates the source of a seed. */
    public SplitMix(long seed) {
        state = seed;
    }

    /**
     * Returns an independent source for one purpose. The same label of an unused source always gives the same
     * sequence.
     */
    public SplitMix split(long label) {
        return new SplitMix(mix(state ^ mix(label + GOLDEN_GAMMA)));
    }

    /** Returns 64 random bits. */
    public long nextLong() {
        state += GOLDEN_GAMMA;
        return mix(state);
    }

    private static long mix(long value) {
        long z = value;
        z = (z ^ z >>> 30) * 0xbf58_476d_1ce4_e5b9L;
        z = (z ^ z >>> 27) * 0x94d0_49bb_1331_11ebL;
        return z ^ z >>> 31;
    }

    /** Returns a number in 0..bound-1. */
    public int below(int bound) {
        return (int) ((nextLong() >>> 33) % bound);
    }

    /** Returns a number in low..high, both included. */
    public int between(int low, int high) {
        return low + below(high - low + 1);
    }

    /**
     * Returns a number in low..high, both included, distributed logarithmically: each order of magnitude is
     * equally likely.
     */
    public long magnitude(long low, long high) {
        double exponent = StrictMath.log(low) + unit() * (StrictMath.log(high) - StrictMath.log(low));
        return Math.clamp((long) StrictMath.exp(exponent), low, high);
    }

    /** Returns a number in 0..1, 1 excluded. */
    public double unit() {
        return (nextLong() >>> 11) * 0x1p-53;
    }

    /** Returns true with the given probability. */
    public boolean chance(double probability) {
        return unit() < probability;
    }

    /** Returns one of the values. */
    public int pick(int... values) {
        return values[below(values.length)];
    }
}
