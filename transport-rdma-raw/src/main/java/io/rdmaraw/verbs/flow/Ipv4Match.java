package io.rdmaraw.verbs.flow;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowEthLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowIpv4Layout;

/** Matches fields of the IPv4 header. In {@code flags}, 2 is "don't fragment" and 4 is "more fragments". */
record Ipv4Match(int source, int sourceMask, int destination, int destinationMask, int protocol, int protocolMask,
        int tos, int tosMask, int ttl, int ttlMask, int flags, int flagsMask) {

    /** Returns whether the extended spec is needed. Fewer devices support it than the short one. */
    private boolean needsExtended() {
        return (protocolMask | tosMask | ttlMask | flagsMask) != 0;
    }

    int encodedBytes() {
        return needsExtended() ? FlowIpv4Layout.SIZE_BYTES : FlowIpv4Layout.PLAIN_SIZE_BYTES;
    }

    int writeTo(long spec, int typeFlags) {
        boolean extended = needsExtended();
        long value = spec + FlowIpv4Layout.VAL_OFFSET;
        long mask = spec + (extended ? FlowIpv4Layout.MASK_OFFSET : FlowIpv4Layout.PLAIN_MASK_OFFSET);
        NativeMemory.putInt(spec + FlowEthLayout.TYPE_OFFSET,
                (extended ? FlowSpecType.IPV4_EXT : FlowSpecType.IPV4) | typeFlags);
        NativeMemory.putShort(spec + FlowEthLayout.SIZE_OFFSET, (short) encodedBytes());
        writeAddresses(value, source, destination);
        writeAddresses(mask, sourceMask, destinationMask);
        if (extended) {
            writeExtension(value, protocol, tos, ttl, flags);
            writeExtension(mask, protocolMask, tosMask, ttlMask, flagsMask);
        }
        return encodedBytes();
    }

    private static void writeAddresses(long filter, int src, int dst) {
        NetworkOrder.putInt(filter + FlowIpv4Layout.FILTER_SRC_IP_OFFSET, src);
        NetworkOrder.putInt(filter + FlowIpv4Layout.FILTER_DST_IP_OFFSET, dst);
    }

    private static void writeExtension(long filter, int proto, int tosBits, int ttlBits, int flagBits) {
        NativeMemory.putByte(filter + FlowIpv4Layout.FILTER_PROTO_OFFSET, (byte) proto);
        NativeMemory.putByte(filter + FlowIpv4Layout.FILTER_TOS_OFFSET, (byte) tosBits);
        NativeMemory.putByte(filter + FlowIpv4Layout.FILTER_TTL_OFFSET, (byte) ttlBits);
        NativeMemory.putByte(filter + FlowIpv4Layout.FILTER_FLAGS_OFFSET, (byte) flagBits);
    }
}
