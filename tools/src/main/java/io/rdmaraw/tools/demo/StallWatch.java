package io.rdmaraw.tools.demo;

import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/**
 * Runs an action each time a counter has not changed for a given time. Always returns true, so that it can be part of a
 * loop condition. Used by one thread.
 */
final class StallWatch implements BooleanSupplier {
    private final LongSupplier count;
    private final long limitNanos;
    private final Runnable onStall;
    private long lastCount;
    private long lastNanos;

    StallWatch(LongSupplier count, long limitNanos, Runnable onStall) {
        this.count = count;
        this.limitNanos = limitNanos;
        this.onStall = onStall;
        lastCount = count.getAsLong();
        lastNanos = System.nanoTime();
    }

    @Override
    public boolean getAsBoolean() {
        long now = System.nanoTime();
        long current = count.getAsLong();
        if (current != lastCount) {
            lastCount = current;
            lastNanos = now;
        } else if (now - lastNanos > limitNanos) {
            lastNanos = now;
            onStall.run();
        }
        return true;
    }
}
