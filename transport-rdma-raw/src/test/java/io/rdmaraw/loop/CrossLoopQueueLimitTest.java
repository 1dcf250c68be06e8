package io.rdmaraw.loop;

import org.junit.jupiter.api.Test;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

class CrossLoopQueueLimitTest {
    private final CrossLoopQueueLimit limit = new CrossLoopQueueLimit();

    @Test
    void framesUpToTheLimitAreAccepted() {
        assertTrue(limit.tryAcquire(CrossLoopQueueLimit.MAX_FRAMES - 1));
        assertFalse(limit.tryAcquire(2), "all or nothing");
        assertTrue(limit.tryAcquire(1));
        assertFalse(limit.tryAcquire(1));
        limit.release(3);
        assertTrue(limit.tryAcquire(3));
        assertFalse(limit.tryAcquire(1));
    }
}
