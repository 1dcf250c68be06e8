package io.rdmaraw.wire;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Counts parsed frames by verdict. One thread counts; any thread may read. Values read are never torn and never
 * decrease, but may be stale.
 */
public final class ParseCounters {
    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(long[].class);

    private final long[] counts = new long[ParseVerdict.count()];

    void count(ParseVerdict verdict) {
        int index = verdict.ordinal();
        ELEMENT.setOpaque(counts, index, counts[index] + 1);
    }

    /** Returns the number of frames with a verdict. */
    public long get(ParseVerdict verdict) {
        return (long) ELEMENT.getOpaque(counts, verdict.ordinal());
    }

    /** Returns the number of frames rejected because of a wrong TCP or UDP checksum. */
    public long badTransportChecksums() {
        return get(ParseVerdict.TCP_BAD_CHECKSUM) + get(ParseVerdict.UDP_BAD_CHECKSUM);
    }

    /** Returns the number of frames rejected because of a martian address. */
    public long martians() {
        return get(ParseVerdict.MARTIAN);
    }

    /** Returns the number of frames rejected because they belong to a VLAN, which the link does not. */
    public long foreignVlans() {
        return get(ParseVerdict.VLAN_FOREIGN);
    }

    /** Returns the number of frames rejected for any other reason. */
    public long malformed() {
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
