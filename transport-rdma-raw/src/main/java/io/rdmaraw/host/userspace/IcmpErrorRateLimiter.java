package io.rdmaraw.host.userspace;

import io.rdmaraw.loop.TokenBucket;
import io.rdmaraw.net.IpAddress;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;

/**
 * Limits ICMP errors (RFC 4443 section 2.4 (f)): a few per destination, and a token bucket for all. An attacker that
 * sends packets with forged sources and counts how many errors are left for itself would learn which ports answer
 * (CVE-2020-25705). So an error costs one token or two, at random, and each destination has its own share first. The
 * shares are times in an array and no buckets: there are many.
 */
final class IcmpErrorRateLimiter {
    /** As {@code net.ipv4.icmp_msgs_burst} and {@code icmp_msgs_per_sec} of Linux have it. */
    private static final int BURST = 50;
    private static final long NANOS_PER_TOKEN = TimeUnit.MILLISECONDS.toNanos(1);
    /** As {@code net.ipv4.icmp_ratelimit}: one per second and destination, and six at once. */
    private static final long NANOS_PER_DESTINATION = TimeUnit.SECONDS.toNanos(1);
    private static final int DESTINATION_BURST = 6;
    /** Destinations share entries, by a hash with a secret key. */
    private static final int ENTRIES = 1024;
    private static final long MULTIPLIER = 0x9e37_79b9_7f4a_7c15L;

    private final RandomGenerator random;
    private final long key;
    /** Until when the errors that were sent are paid for, by destination. */
    private final long[] paidUntilNanos = new long[ENTRIES];
    private final TokenBucket all = new TokenBucket(BURST, NANOS_PER_TOKEN);
    private boolean begun;

    IcmpErrorRateLimiter(RandomGenerator random) {
        this.random = random;
        key = random.nextLong();
    }

    boolean take(IpAddress destination, long nowNanos) {
        if (!begun) {
            begun = true;
            Arrays.fill(paidUntilNanos, nowNanos);
        }
        int entry = entry(destination);
        long paidUntil = Math.max(paidUntilNanos[entry] - nowNanos, 0) + NANOS_PER_DESTINATION;
        if (paidUntil > DESTINATION_BURST * NANOS_PER_DESTINATION
                || all.take(1 + random.nextInt(2), nowNanos) != 0) {
            return false;
        }
        paidUntilNanos[entry] = nowNanos + paidUntil;
        return true;
    }

    private int entry(IpAddress destination) {
        long hash = (destination.high() ^ key) * MULTIPLIER;
        hash = (hash ^ hash >>> 32 ^ destination.low()) * (key | 1);
        return (int) (hash >>> Long.SIZE - Integer.numberOfTrailingZeros(ENTRIES));
    }
}
