package io.rdmaraw.verbs.flow;

import io.rdmaraw.verbs.abi.VerbsLayouts.FlowEthLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowIpv6Layout;
import io.rdmaraw.verbs.abi.VerbsLayouts.FlowTcpUdpLayout;

/**
 * The matches of one stack of headers, either outer or inner. A component is null if the rule ignores that
 * header.
 */
record FlowLayers(EthernetMatch ethernet, Ipv4Match ipv4, Ipv6Match ipv6, PortMatch ports) {

    boolean isEmpty() {
        return specCount() == 0;
    }

    int specCount() {
        return (ethernet == null ? 0 : 1) + (ipv4 == null ? 0 : 1) + (ipv6 == null ? 0 : 1) + (ports == null ? 0 : 1);
    }

    int encodedBytes() {
        return (ethernet == null ? 0 : FlowEthLayout.SIZE_BYTES) + (ipv4 == null ? 0 : ipv4.encodedBytes())
                + (ipv6 == null ? 0 : FlowIpv6Layout.SIZE_BYTES) + (ports == null ? 0 : FlowTcpUdpLayout.SIZE_BYTES);
    }

    /** Writes the flow specs one after the other and returns the address after the last one. */
    long writeTo(long address, int typeFlags) {
        long next = address;
        if (ethernet != null) {
            next += ethernet.writeTo(next, typeFlags);
        }
        if (ipv4 != null) {
            next += ipv4.writeTo(next, typeFlags);
        }
        if (ipv6 != null) {
            next += ipv6.writeTo(next, typeFlags);
        }
        if (ports != null) {
            next += ports.writeTo(next, typeFlags);
        }
        return next;
    }
}
