package io.rdmaraw.loop;

import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

class CrossLoopQueueLimitTest {
    private final CrossLoopQueueLimit limit = new CrossLoopQueueLimit();

    @Test
    void framesUpToTheLimitAreAccepted() {
        assertTrue(limit.acquire(CrossLoopQueueLimit.MAX_FRAMES - 1));
        assertFalse(limit.acquire(2), "all or nothing");
        assertTrue(limit.acquire(1));
        assertFalse(limit.acquire(1));
        limit.release(3);
        assertTrue(limit.acquire(3));
        assertFalse(limit.acquire(1));
    }
}
