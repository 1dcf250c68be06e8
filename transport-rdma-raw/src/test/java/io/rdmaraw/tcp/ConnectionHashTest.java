package io.rdmaraw.tcp;

import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;

class ConnectionHashTest {
    private static final int CONNECTIONS = 2048;
    private static final int PLACES = 4 * CONNECTIONS;
    /** A random function fills a place with more entries with a probability below 1e-12. */
    private static final int MAX_ENTRIES_OF_A_PLACE = 12;

    private static int maxEntriesOfAPlace(ConnectionHash hash, int lowStep, int portStep) {
        int[] counts = new int[PLACES];
        int most = 0;
        for (int i = 0; i < CONNECTIONS; i++) {
            int place = hash.hash(0x2001_0db8_0000_0000L, 1, 443, 0x2001_0db8_0000_0001L, 7L + (long) i * lowStep,
                    65_535 - i * portStep & 0xffff) & PLACES - 1;
            most = Math.max(most, ++counts[place]);
        }
        return most;
    }

    /**
     * A peer with an IPv6 /64 chooses 64 address bits and the port. No arithmetic sequence of them shares a
     * place.
     */
    @Test
    void peersCannotProvokeCollisions() {
        Random random = new Random(1);
        for (int key = 0; key < 20; key++) {
            ConnectionHash hash = new ConnectionHash(random);
            assertTrue(maxEntriesOfAPlace(hash, 1, 31) <= MAX_ENTRIES_OF_A_PLACE, "key " + key);
            assertTrue(maxEntriesOfAPlace(hash, PLACES, 0) <= MAX_ENTRIES_OF_A_PLACE, "key " + key);
            assertTrue(maxEntriesOfAPlace(hash, 0, 1) <= MAX_ENTRIES_OF_A_PLACE, "key " + key);
        }
    }

    @Test
    void hashDependsOnEveryField() {
        ConnectionHash hash = new ConnectionHash(new Random(2));
        int whole = hash.hash(1, 2, 3, 4, 5, 6);
        assertNotEquals(whole, hash.hash(0, 2, 3, 4, 5, 6));
        assertNotEquals(whole, hash.hash(1, 0, 3, 4, 5, 6));
        assertNotEquals(whole, hash.hash(1, 2, 0, 4, 5, 6));
        assertNotEquals(whole, hash.hash(1, 2, 3, 0, 5, 6));
        assertNotEquals(whole, hash.hash(1, 2, 3, 4, 0, 6));
        assertNotEquals(whole, hash.hash(1, 2, 3, 4, 5, 0));
        assertNotEquals(whole, new ConnectionHash(new Random(3)).hash(1, 2, 3, 4, 5, 6));
    }
}
