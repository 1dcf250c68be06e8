package io.rdmaraw.channel;

import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

class SpinPolicyTest {
    private final SpinPolicy policy = new SpinPolicy();

    /** Returns how many of these waits spin, all with the same outcome. */
    private int spins(int waits, boolean found) {
        int spins = 0;
        for (int i = 0; i < waits; i++) {
            if (policy.isWorthwhile()) {
                spins++;
                policy.ended(found);
            }
        }
        return spins;
    }

    @Test
    void spinsThatFindFramesGoOn() {
        assertEquals(1000, spins(1000, true));
    }

    @Test
    void spinsInVainBecomeRare() {
        assertEquals(4 + 6, spins(4 + 6 * 16, false));
    }

    @Test
    void oneSpinThatFindsAFrameBringsThemBack() {
        spins(100, false);
        while (!policy.isWorthwhile()) {
            // Until the next trial.
        }
        policy.ended(true);
        assertTrue(policy.isWorthwhile());
        assertEquals(4, spins(4, false), "and their patience");
    }
}
