package io.rdmaraw.loop;

import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

class CrossLoopQueueLimitTest {
    private final CrossLoopQueueLimit limit = new CrossLoopQueueLimit();

    @Test
    void framesUpToTheLimitAreAccepted() {
        assertTrue(limit.take(CrossLoopQueueLimit.MAX_FRAMES - 1));
        assertFalse(limit.take(2), "all or nothing");
        assertTrue(limit.take(1));
        assertFalse(limit.take(1));
        limit.giveBack(3);
        assertTrue(limit.take(3));
        assertFalse(limit.take(1));
    }
}
