package io.rdmaraw.host.userspace;

import io.rdmaraw.loop.TokenBucket;
import io.rdmaraw.net.IpAddress;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;

/**
 * Limits the rate of ICMP errors for each destination and in total (RFC 4443 section 2.4 (f)). The total must not be
 * predictable. Otherwise an attacker could send packets with forged sources, count the errors that remain for its
 * address, and learn which ports are open (CVE-2020-25705). So an error costs one or two tokens at random, and the
 * limit for the destination applies first. The limits for destinations are stored as times in an array rather than as
 * token buckets, because there are many.
 */
final class IcmpErrorRateLimiter {
    /** Values of {@code net.ipv4.icmp_msgs_burst} and {@code icmp_msgs_per_sec} of Linux. */
    private static final int BURST = 50;
    private static final long NANOS_PER_TOKEN = TimeUnit.MILLISECONDS.toNanos(1);
    /** Values of {@code net.ipv4.icmp_ratelimit}: one error per second and destination, with a burst of six. */
    private static final long NANOS_PER_DESTINATION = TimeUnit.SECONDS.toNanos(1);
    private static final int DESTINATION_BURST = 6;
    /** Number of entries. Destinations share an entry if their hashes with a secret key collide. */
    private static final int ENTRIES = 1024;
    private static final long MULTIPLIER = 0x9e37_79b9_7f4a_7c15L;

    private final RandomGenerator random;
    private final long key;
    /** Time until which the errors already sent use up the destination's limit. */
    private final long[] chargedUntilNanos = new long[ENTRIES];
    private final TokenBucket totalLimit = new TokenBucket(BURST, NANOS_PER_TOKEN);
    private boolean initialized;

    IcmpErrorRateLimiter(RandomGenerator random) {
        this.random = random;
        key = random.nextLong();
    }

    boolean tryAcquire(IpAddress destination, long nowNanos) {
        if (!initialized) {
            initialized = true;
            Arrays.fill(chargedUntilNanos, nowNanos);
        }
        int entry = entry(destination);
        long chargedNanos = Math.max(chargedUntilNanos[entry] - nowNanos, 0) + NANOS_PER_DESTINATION;
        if (chargedNanos > DESTINATION_BURST * NANOS_PER_DESTINATION
                || totalLimit.acquire(1 + random.nextInt(2), nowNanos) != 0) {
            return false;
        }
        chargedUntilNanos[entry] = nowNanos + chargedNanos;
        return true;
    }

    private int entry(IpAddress destination) {
        long hash = (destination.high() ^ key) * MULTIPLIER;
        hash = (hash ^ hash >>> 32 ^ destination.low()) * (key | 1);
        return (int) (hash >>> Long.SIZE - Integer.numberOfTrailingZeros(ENTRIES));
    }
}
