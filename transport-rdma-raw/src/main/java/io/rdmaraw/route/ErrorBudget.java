package io.rdmaraw.route;

import java.util.concurrent.TimeUnit;

/** How many ICMP errors may be sent: a token bucket (RFC 4443 section 2.4 (f)). */
final class ErrorBudget {
    private static final int BURST = 50;
    private static final long NANOS_PER_ERROR = TimeUnit.MILLISECONDS.toNanos(1);

    private int tokens = BURST;
    private long filledNanos;
    private boolean begun;

    boolean take(long nowNanos) {
        if (!begun) {
            begun = true;
            filledNanos = nowNanos;
        }
        long gained = (nowNanos - filledNanos) / NANOS_PER_ERROR;
        if (gained > 0) {
            tokens = (int) Math.min(BURST, tokens + gained);
            filledNanos += gained * NANOS_PER_ERROR;
        }
        if (tokens == 0) {
            return false;
        }
        tokens--;
        return true;
    }
}
