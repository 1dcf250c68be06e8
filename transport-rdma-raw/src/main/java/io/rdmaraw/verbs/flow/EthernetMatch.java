package io.rdmaraw.verbs.flow;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowEthLayout;

/**
 * Matches fields of the Ethernet header. A MAC address is held in the low 48 bits of a long, its first byte in
 * the most significant position.
 */
record EthernetMatch(long destination, long destinationMask, long source, long sourceMask, int etherType,
        int etherTypeMask, int vlanTag, int vlanTagMask) {
    static final long MAC_MASK = 0xffff_ffff_ffffL;
    static final int VLAN_ID_MASK = 0x0fff;

    private static final long MULTICAST_BIT = 1L << 40;

    boolean isMulticast() {
        return (destination & destinationMask & MULTICAST_BIT) != 0;
    }

    int writeTo(long spec, int flags) {
        NativeMemory.putInt(spec + FlowEthLayout.TYPE_OFFSET, FlowSpecType.ETH | flags);
        NativeMemory.putShort(spec + FlowEthLayout.SIZE_OFFSET, (short) FlowEthLayout.SIZE_BYTES);
        writeFilter(spec + FlowEthLayout.VAL_OFFSET, destination, source, etherType, vlanTag);
        writeFilter(spec + FlowEthLayout.MASK_OFFSET, destinationMask, sourceMask, etherTypeMask, vlanTagMask);
        return FlowEthLayout.SIZE_BYTES;
    }

    private static void writeFilter(long filter, long dst, long src, int type, int vlan) {
        NetworkOrder.putU48(filter + FlowEthLayout.FILTER_DST_MAC_OFFSET, dst);
        NetworkOrder.putU48(filter + FlowEthLayout.FILTER_SRC_MAC_OFFSET, src);
        NetworkOrder.putU16(filter + FlowEthLayout.FILTER_ETHER_TYPE_OFFSET, type);
        NetworkOrder.putU16(filter + FlowEthLayout.FILTER_VLAN_TAG_OFFSET, vlan);
    }
}
