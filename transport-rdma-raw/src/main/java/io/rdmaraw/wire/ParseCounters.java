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

    /** Returns how many of the refused frames had a checksum of TCP or UDP that is wrong. */
    public long badTransportChecksums() {
        return get(ParseVerdict.TCP_BAD_CHECKSUM) + get(ParseVerdict.UDP_BAD_CHECKSUM);
    }

    /** Returns how many frames had an address that no packet on a link can have. */
    public long martians() {
        return get(ParseVerdict.MARTIAN);
    }

    /** Returns how many frames were of a VLAN that the link is none of. */
    public long foreignVlans() {
        return get(ParseVerdict.VLAN_FOREIGN);
    }

    /** Returns how many frames were refused for anything that the others here do not say. */
    public long unsound() {
        long sum = 0;
        for (ParseVerdict verdict : ParseVerdict.values()) {
            if (!verdict.isAccepted() && !isTransportChecksum(verdict) && verdict != ParseVerdict.MARTIAN
                    && verdict != ParseVerdict.VLAN_FOREIGN) {
                sum += get(verdict);
            }
        }
        return sum;
    }

    private static boolean isTransportChecksum(ParseVerdict verdict) {
        return verdict == ParseVerdict.TCP_BAD_CHECKSUM || verdict == ParseVerdict.UDP_BAD_CHECKSUM;
    }
}
