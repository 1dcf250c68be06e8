package io.rdmaraw.tools.run;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A counter with a single writing thread, which needs neither a lock nor a fence. The counter is padded to separate
 * cache lines, so that readers on other cores do not slow down accesses to other fields of the writer.
 */
public final class Counter {
    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(long[].class);
    /** Two cache lines of 64 bytes on either side, because processors prefetch lines in pairs. */
    private static final int PADDING = 16;

    private final long[] value = new long[2 * PADDING + 1];

    /** Adds an amount. Called only by the writing thread. */
    public void add(long amount) {
        ELEMENT.setOpaque(value, PADDING, value[PADDING] + amount);
    }

    /** Returns the value. Thread-safe. */
    public long get() {
        return (long) ELEMENT.getOpaque(value, PADDING);
    }
}
