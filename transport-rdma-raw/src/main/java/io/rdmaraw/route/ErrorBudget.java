package io.rdmaraw.route;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;

/**
 * How many ICMP errors may be sent (RFC 4443 section 2.4 (f)): a few per destination, and by a token bucket for all.
 * Whoever sends packets in others' names, and counts how many errors are left for itself, learns which ports answer
 * (CVE-2020-25705). So an error costs one token or two, at random, and each destination has its own share first.
 */
final class ErrorBudget {
    /** As {@code net.ipv4.icmp_msgs_burst} and {@code icmp_msgs_per_sec} of Linux have it. */
    private static final int BURST = 50;
    private static final long NANOS_PER_TOKEN = TimeUnit.MILLISECONDS.toNanos(1);
    /** As {@code net.ipv4.icmp_ratelimit}: one per second and destination, and six at once. */
    private static final long NANOS_PER_DESTINATION = TimeUnit.SECONDS.toNanos(1);
    private static final int DESTINATION_BURST = 6;
    /** Destinations share places, by a hash that nobody else knows. */
    private static final int PLACES = 1024;
    private static final long SPREAD = 0x9e37_79b9_7f4a_7c15L;

    private final RandomGenerator random;
    private final long key;
    /** Until when the errors that were sent are paid for, by destination. */
    private final long[] paidUntilNanos = new long[PLACES];
    private int tokens = BURST;
    private long filledNanos;
    private boolean begun;

    ErrorBudget(RandomGenerator random) {
        this.random = random;
        key = random.nextLong();
    }

    boolean take(IpAddress destination, long nowNanos) {
        if (!begun) {
            begun = true;
            filledNanos = nowNanos;
            Arrays.fill(paidUntilNanos, nowNanos);
        }
        int place = place(destination);
        long paidUntil = Math.max(paidUntilNanos[place] - nowNanos, 0) + NANOS_PER_DESTINATION;
        if (paidUntil > DESTINATION_BURST * NANOS_PER_DESTINATION || !take(nowNanos)) {
            return false;
        }
        paidUntilNanos[place] = nowNanos + paidUntil;
        return true;
    }

    private boolean take(long nowNanos) {
        long gained = (nowNanos - filledNanos) / NANOS_PER_TOKEN;
        if (gained > 0) {
            tokens = (int) Math.min(BURST, tokens + gained);
            filledNanos += gained * NANOS_PER_TOKEN;
        }
        if (tokens <= 0) {
            return false;
        }
        tokens -= 1 + random.nextInt(2);
        return true;
    }

    private int place(IpAddress destination) {
        long hash = (destination.high() ^ key) * SPREAD;
        hash = (hash ^ hash >>> 32 ^ destination.low()) * (key | 1);
        return (int) (hash >>> Long.SIZE - Integer.numberOfTrailingZeros(PLACES));
    }
}
