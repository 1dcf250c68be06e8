package io.rdmaraw.wire;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Counts parsed frames by verdict. One thread counts, any thread may read: values are never torn and never go back, but
 * a reader may see them late.
 */
public final class ParseCounters {
    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(long[].class);

    private final long[] counts = new long[ParseVerdict.count()];

    void count(ParseVerdict verdict) {
        int index = verdict.ordinal();
        ELEMENT.setOpaque(counts, index, counts[index] + 1);
    }

    /** Returns how many frames got the verdict. */
    public long get(ParseVerdict verdict) {
        return (long) ELEMENT.getOpaque(counts, verdict.ordinal());
    }

    /** Returns how many frames were parsed. */
    public long total() {
        return accepted() + rejected();
    }

    /** Returns how many frames were sound. */
    public long accepted() {
        return sum(true);
    }

    /** Returns how many frames were refused. */
    public long rejected() {
        return sum(false);
    }

    private long sum(boolean accepted) {
        long sum = 0;
        for (ParseVerdict verdict : ParseVerdict.values()) {
            if (verdict.isAccepted() == accepted) {
                sum += get(verdict);
            }
        }
        return sum;
    }
}
