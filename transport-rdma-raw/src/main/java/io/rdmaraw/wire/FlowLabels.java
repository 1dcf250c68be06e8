package io.rdmaraw.wire;

/**
 * Generates IPv6 flow labels. All packets of a flow have the same label. Routers that select among several paths
 * by the label then distribute flows and keep the packets of each flow in order. Outsiders cannot predict a label
 * (RFC 6437 section 3).
 */
public final class FlowLabels {
    private static final int BITS = 20;
    /** Separates these hashes from other uses of the same key. */
    private static final long DOMAIN = 6;

    private final SipHash hash;

    public FlowLabels(SipHash hash) {
        this.hash = hash;
    }

    /**
     * Returns the label of a flow, 1 to 2^20 - 1. The value 0 means no label.
     *
     * @param previousLabel the previous label of the flow, to obtain a different one; 0 if there was none
     */
    public int of(long sourceHigh, long sourceLow, int sourcePort, long destinationHigh, long destinationLow,
                  int destinationPort, int previousLabel) {
        long mixed = hash.hash(sourceHigh, sourceLow, destinationHigh, destinationLow,
                SipHash.ports(sourcePort, destinationPort), DOMAIN | (long) previousLabel << Integer.SIZE);
        return (int) Long.remainderUnsigned(mixed, (1 << BITS) - 1) + 1;
    }
}
