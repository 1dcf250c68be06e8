package io.rdmaraw.channel;

import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

class SpinPolicyTest {
    private static final long SPIN_NANOS = 20_000;
    private static final long SOON_NANOS = 2_000;
    private static final long LATE_NANOS = 15_000;

    private final SpinPolicy policy = new SpinPolicy(SPIN_NANOS);

    /** Returns how many of these waits spin, all with the same outcome. */
    private int spins(int waits, boolean found, long nanos) {
        int spins = 0;
        for (int i = 0; i < waits; i++) {
            if (policy.isWorthwhile()) {
                spins++;
                policy.ended(found, nanos);
            }
        }
        return spins;
    }

    private void trial(boolean found, long nanos) {
        int waits = 1;
        while (!policy.isWorthwhile()) {
            assertTrue(++waits <= 512, "no trial in 512 waits");
        }
        policy.ended(found, nanos);
    }

    @Test
    void spinsThatFindFramesSoonGoOn() {
        assertEquals(1000, spins(1000, true, SOON_NANOS));
    }

    @Test
    void spinsInVainBecomeRarer() {
        assertEquals(4 + 1, spins(4 + 16, false, SPIN_NANOS));
        assertEquals(1, spins(16, false, SPIN_NANOS));
        assertEquals(1, spins(32, false, SPIN_NANOS));
        spins(10_000, false, SPIN_NANOS);
        assertEquals(4, spins(4 * 512, false, SPIN_NANOS), "but never end");
    }

    @Test
    void framesThatAreFoundLateAreNotWorthTheSpins() {
        assertTrue(spins(1000, true, LATE_NANOS) < 30);
    }

    @Test
    void oneFrameFoundSoonBringsSpinsBack() {
        spins(100, false, SPIN_NANOS);
        trial(true, SOON_NANOS);
        assertEquals(4, spins(4, false, SPIN_NANOS), "and their patience");
        assertEquals(0, spins(15, false, SPIN_NANOS), "and no more than that");
    }

    @Test
    void oneFrameFoundLateDoesNot() {
        spins(100, false, SPIN_NANOS);
        trial(true, LATE_NANOS);
        assertFalse(policy.isWorthwhile());
    }

    @Test
    void framesFoundPayForSpinsInVain() {
        for (int i = 0; i < 1000; i++) {
            assertEquals(3, spins(3, true, 0));
            assertEquals(1, spins(1, false, SPIN_NANOS), "one in four, after " + i + " times");
        }
    }

    @Test
    void spinsThatMayLastForEverAreWorthIt() {
        SpinPolicy forEver = new SpinPolicy(Long.MAX_VALUE);
        assertTrue(forEver.isWorthwhile());
        forEver.ended(true, 1_000_000_000L);
        assertTrue(forEver.isWorthwhile());
    }
}
