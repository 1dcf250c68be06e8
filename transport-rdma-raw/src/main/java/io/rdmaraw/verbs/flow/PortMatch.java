package io.rdmaraw.verbs.flow;

import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowEthLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowTcpUdpLayout;

/**
 * Matches TCP or UDP ports.
 *
 * @param tcp             whether the protocol is TCP; otherwise it is UDP
 * @param destination     destination port
 * @param destinationMask mask of the destination port; 0 matches every port
 * @param source          source port
 * @param sourceMask      mask of the source port; 0 matches every port
 */
record PortMatch(boolean tcp, int destination, int destinationMask, int source, int sourceMask) {
    int writeTo(long spec, int typeFlags) {
        NativeMemory.putInt(spec + FlowEthLayout.TYPE_OFFSET, (tcp ? FlowSpecType.TCP : FlowSpecType.UDP) | typeFlags);
        NativeMemory.putShort(spec + FlowEthLayout.SIZE_OFFSET, (short) FlowTcpUdpLayout.SIZE_BYTES);
        writeFilter(spec + FlowTcpUdpLayout.VAL_OFFSET, destination, source);
        writeFilter(spec + FlowTcpUdpLayout.MASK_OFFSET, destinationMask, sourceMask);
        return FlowTcpUdpLayout.SIZE_BYTES;
    }

    private static void writeFilter(long filter, int dst, int src) {
        NetworkOrder.putU16(filter + FlowTcpUdpLayout.FILTER_DST_PORT_OFFSET, dst);
        NetworkOrder.putU16(filter + FlowTcpUdpLayout.FILTER_SRC_PORT_OFFSET, src);
    }
}
