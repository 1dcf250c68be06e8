package io.rdmaraw.tools.report;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A count that one thread raises and others read: no lock and no fence on the writing side. It has cache lines of its
 * own: while another core reads the count, the writer's other fields must not pay for it.
 */
public final class Counter {
    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(long[].class);
    /** Two lines of 64 bytes on either side: processors fetch lines in pairs. */
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
