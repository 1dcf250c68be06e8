package io.rdmaraw.verbs;

import io.rdmaraw.ffi.NativeMemory;

/** Match on TCP or UDP. */
record PortMatch(boolean tcp, int destination, int destinationMask, int source, int sourceMask) {
    int writeTo(long spec, int typeFlags) {
        NativeMemory.putInt(spec + FlowEthLayout.TYPE_OFFSET, (tcp ? FlowSpecType.TCP : FlowSpecType.UDP) | typeFlags);
        NativeMemory.putShort(spec + FlowEthLayout.SIZE_OFFSET, (short) FlowTcpUdpLayout.SIZE_BYTES);
        writeFilter(spec + FlowTcpUdpLayout.VAL_OFFSET, destination, source);
        writeFilter(spec + FlowTcpUdpLayout.MASK_OFFSET, destinationMask, sourceMask);
        return FlowTcpUdpLayout.SIZE_BYTES;
    }

    private static void writeFilter(long filter, int dst, int src) {
        BigEndian.putShort(filter + FlowTcpUdpLayout.FILTER_DST_PORT_OFFSET, dst);
        BigEndian.putShort(filter + FlowTcpUdpLayout.FILTER_SRC_PORT_OFFSET, src);
    }
}
