package io.rdmaraw.wire;

/**
 * The flow labels of IPv6: one for all packets of a flow, so that routers which choose among several paths by it keep
 * the packets of a flow in order and distribute flows. Others cannot guess a label (RFC 6437 section 3).
 */
public final class FlowLabels {
    private static final int BITS = 20;
    /** Tells these hashes from others of the same key. */
    private static final long DOMAIN = 6;

    private final SipHash hash;

    /** Makes the labels of a key. */
    public FlowLabels(SipHash hash) {
        this.hash = hash;
    }

    /**
     * Returns the label of a flow: 1 to 2^20 - 1, as 0 is none.
     *
     * @param before 0, or the label that the flow had, to have another one
     */
    public int of(long sourceHigh, long sourceLow, int sourcePort, long targetHigh, long targetLow, int targetPort,
                  int before) {
        long mixed = hash.hash(sourceHigh, sourceLow, targetHigh, targetLow, SipHash.ports(sourcePort, targetPort),
                DOMAIN | (long) before << Integer.SIZE);
        return (int) Long.remainderUnsigned(mixed, (1 << BITS) - 1) + 1;
    }
}
