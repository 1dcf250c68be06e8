package io.rdmaraw.tools.report;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** A count that one thread raises and others read: no lock and no fence on the writing side. */
public final class Counter {
    private static final VarHandle VALUE;

    static {
        try {
            VALUE = MethodHandles.lookup().findVarHandle(Counter.class, "value", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private long value;

    /** Called by the one writing thread. */
    public void add(long amount) {
        VALUE.setOpaque(this, value + amount);
    }

    /** Called by any thread. */
    public long get() {
        return (long) VALUE.getOpaque(this);
    }
}
