package io.rdmaraw.loop;

import org.junit.jupiter.api.Test;

import java.util.SplittableRandom;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

class SpinPolicyTest {
    private static final long SPIN_NANOS = 20_000;
    private static final long SOON_NANOS = 2_000;
    private static final long LATE_NANOS = 15_000;
    private static final int MAX_BREAK = 192;

    private final SpinPolicy policy = new SpinPolicy(SPIN_NANOS, new SplittableRandom(1));

    /** Returns how many of the given waits spin, all with the same outcome. */
    private int spins(int waits, boolean found, long nanos) {
        int spins = 0;
        for (int i = 0; i < waits; i++) {
            if (policy.shouldSpin()) {
                spins++;
                policy.spinEnded(found, nanos);
            }
        }
        return spins;
    }

    /** Runs a trial. The first spin has the given outcome; the others find nothing. */
    private void trial(boolean found, long nanos) {
        int waits = 1;
        while (!policy.shouldSpin()) {
            assertTrue(++waits <= MAX_BREAK, "no trial in " + MAX_BREAK + " waits");
        }
        policy.spinEnded(found, nanos);
    }

    @Test
    void successfulSpinsContinue() {
        assertEquals(1000, spins(1000, true, SOON_NANOS));
    }

    @Test
    void unsuccessfulSpinsBecomeRarer() {
        assertEquals(4, spins(4 + 7, false, SPIN_NANOS));
        assertEquals(4, spins(17, false, SPIN_NANOS), "a trial");
        spins(10_000, false, SPIN_NANOS);
        int rare = spins(100_000, false, SPIN_NANOS);
        assertTrue(rare > 2_500 && rare < 3_500, rare + " spins: 4 in 128 waits, and they never end");
    }

    /** If both loops spin, each finds the reply of the other soon; if one sleeps, the reply comes too late. */
    @Test
    void twoLoopsInDialogueStartSpinning() {
        for (int seed = 0; seed < 100; seed++) {
            SpinPolicy one = new SpinPolicy(SPIN_NANOS, new SplittableRandom(2 * seed));
            SpinPolicy other = new SpinPolicy(SPIN_NANOS, new SplittableRandom(2 * seed + 1));
            int together = 0;
            for (int wait = 0; wait < 1_000; wait++) {
                rally(one, other, false);
            }
            for (int wait = 0; wait < 20_000; wait++) {
                together += rally(one, other, true) ? 1 : 0;
            }
            assertTrue(together > 10_000, together + " of 20,000 with seed " + seed);
        }
    }

    /** Returns whether both loops spin. Unless both do, neither finds a frame. */
    private static boolean rally(SpinPolicy one, SpinPolicy other, boolean maySucceed) {
        boolean first = one.shouldSpin();
        boolean second = other.shouldSpin();
        boolean both = first && second && maySucceed;
        if (first) {
            one.spinEnded(both, both ? SOON_NANOS : SPIN_NANOS);
        }
        if (second) {
            other.spinEnded(both, both ? SOON_NANOS : SPIN_NANOS);
        }
        return both;
    }

    @Test
    void framesFoundLateDoNotJustifySpins() {
        assertTrue(spins(1000, true, LATE_NANOS) < 100);
    }

    @Test
    void oneFrameFoundSoonRestoresSpins() {
        spins(100, false, SPIN_NANOS);
        trial(true, SOON_NANOS);
        assertEquals(4, spins(4, false, SPIN_NANOS), "and their patience");
        assertEquals(0, spins(7, false, SPIN_NANOS), "and no more than that");
    }

    @Test
    void oneFrameFoundLateDoesNotRestoreSpins() {
        spins(100, false, SPIN_NANOS);
        trial(true, LATE_NANOS);
        assertEquals(3, spins(3, true, LATE_NANOS), "the rest of the trial");
        assertFalse(policy.shouldSpin());
    }

    @Test
    void successfulSpinsOffsetUnsuccessfulOnes() {
        for (int i = 0; i < 1000; i++) {
            assertEquals(3, spins(3, true, 0));
            assertEquals(1, spins(1, false, SPIN_NANOS), "one in four, after " + i + " times");
        }
    }

    @Test
    void unlimitedSpinsAreAlwaysWorthwhile() {
        SpinPolicy forEver = new SpinPolicy(Long.MAX_VALUE, new SplittableRandom(1));
        assertTrue(forEver.shouldSpin());
        forEver.spinEnded(true, 1_000_000_000L);
        assertTrue(forEver.shouldSpin());
    }
}
