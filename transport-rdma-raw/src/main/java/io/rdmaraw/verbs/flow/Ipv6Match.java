package io.rdmaraw.verbs.flow;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowEthLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowIpv6Layout;

/** Matches fields of the IPv6 header. */
record Ipv6Match(Bits source, Bits sourceMask, Bits destination, Bits destinationMask, int flowLabel, int flowLabelMask,
        int nextHeader, int nextHeaderMask, int trafficClass, int trafficClassMask, int hopLimit, int hopLimitMask) {
    static final int FLOW_LABEL_MASK = 0xfffff;

    /** An address or mask of 128 bits. The first byte is the most significant one of {@code high}. */
    record Bits(long high, long low) {
        static final Bits ZERO = new Bits(0, 0);
        static final Bits ONES = new Bits(-1, -1);
    }

    int writeTo(long spec, int typeFlags) {
        NativeMemory.putInt(spec + FlowEthLayout.TYPE_OFFSET, FlowSpecType.IPV6 | typeFlags);
        NativeMemory.putShort(spec + FlowEthLayout.SIZE_OFFSET, (short) FlowIpv6Layout.SIZE_BYTES);
        long value = spec + FlowIpv6Layout.VAL_OFFSET;
        long mask = spec + FlowIpv6Layout.MASK_OFFSET;
        writeAddresses(value, source, destination);
        writeAddresses(mask, sourceMask, destinationMask);
        writeRest(value, flowLabel, nextHeader, trafficClass, hopLimit);
        writeRest(mask, flowLabelMask, nextHeaderMask, trafficClassMask, hopLimitMask);
        return FlowIpv6Layout.SIZE_BYTES;
    }

    private static void writeAddresses(long filter, Bits src, Bits dst) {
        writeBits(filter + FlowIpv6Layout.FILTER_SRC_IP_OFFSET, src);
        writeBits(filter + FlowIpv6Layout.FILTER_DST_IP_OFFSET, dst);
    }

    private static void writeBits(long address, Bits bits) {
        NetworkOrder.putLong(address, bits.high);
        NetworkOrder.putLong(address + Long.BYTES, bits.low);
    }

    private static void writeRest(long filter, int label, int next, int tclass, int hops) {
        NetworkOrder.putInt(filter + FlowIpv6Layout.FILTER_FLOW_LABEL_OFFSET, label);
        NativeMemory.putByte(filter + FlowIpv6Layout.FILTER_NEXT_HDR_OFFSET, (byte) next);
        NativeMemory.putByte(filter + FlowIpv6Layout.FILTER_TRAFFIC_CLASS_OFFSET, (byte) tclass);
        NativeMemory.putByte(filter + FlowIpv6Layout.FILTER_HOP_LIMIT_OFFSET, (byte) hops);
    }
}
