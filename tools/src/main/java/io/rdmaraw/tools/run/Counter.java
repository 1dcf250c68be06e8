package io.rdmaraw.tools.run;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A counter with one writing thread: no lock and no fence on the writing side. It has cache lines of its own, so that
 * readers on other cores do not slow down accesses to other fields of the writer.
 */
public final class Counter {
    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(long[].class);
    /** Two cache lines of 64 bytes on either side, because processors prefetch lines in pairs. */
    private static final int PADDING = 16;

    private final long[] value = new long[2 * PADDING + 1];

    /** Called by the one writing thread. */
    public void add(long amount) {
        ELEMENT.setOpaque(value, PADDING, value[PADDING] + amount);
    }

    /** Called by any thread. */
    public long get() {
        return (long) ELEMENT.getOpaque(value, PADDING);
    }
}
