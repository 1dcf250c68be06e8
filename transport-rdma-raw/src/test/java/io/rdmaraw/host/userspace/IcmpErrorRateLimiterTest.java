package io.rdmaraw.host.userspace;

import io.rdmaraw.net.IpAddress;
import org.junit.jupiter.api.Test;

import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

class IcmpErrorRateLimiterTest {
    private static final IpAddress ONE = IpAddress.parse("10.0.0.1");

    private static int takeFromMany(IcmpErrorRateLimiter budget, long nowNanos) {
        int taken = 0;
        for (int i = 0; i < 1000; i++) {
            taken += budget.tryAcquire(IpAddress.ipv4(0x0a010000 + 7 * i), nowNanos) ? 1 : 0;
        }
        return taken;
    }

    @Test
    void destinationGetsFewErrorsThenOnePerSecond() {
        // Starts below zero and passes zero, which must have no special meaning.
        long nowNanos = -TimeUnit.SECONDS.toNanos(2);
        IcmpErrorRateLimiter budget = new IcmpErrorRateLimiter(new Random(1));
        int taken = 0;
        for (int i = 0; i < 100; i++) {
            taken += budget.tryAcquire(ONE, nowNanos) ? 1 : 0;
        }
        assertEquals(6, taken);
        taken = 0;
        for (int i = 0; i < 10_000; i++) {
            nowNanos += TimeUnit.MILLISECONDS.toNanos(1);
            taken += budget.tryAcquire(ONE, nowNanos) ? 1 : 0;
        }
        assertEquals(10, taken);
    }

    /** A random limit keeps a receiver from computing how many errors others received (CVE-2020-25705). */
    @Test
    void burstSizeIsRandom() {
        Set<Integer> counts = new TreeSet<>();
        for (int seed = 0; seed < 50; seed++) {
            int taken = takeFromMany(new IcmpErrorRateLimiter(new Random(seed)), 0);
            assertTrue(taken >= 25 && taken <= 50, () -> taken + " at once");
            counts.add(taken);
        }
        assertTrue(counts.size() > 5, counts::toString);
    }

    @Test
    void errorsToAllDestinationsAreLimited() {
        IcmpErrorRateLimiter budget = new IcmpErrorRateLimiter(new Random(1));
        takeFromMany(budget, 0);
        assertTrue(takeFromMany(budget, 0) <= 1);
        assertTrue(takeFromMany(budget, TimeUnit.SECONDS.toNanos(10)) >= 25, "it fills up again");
    }
}
