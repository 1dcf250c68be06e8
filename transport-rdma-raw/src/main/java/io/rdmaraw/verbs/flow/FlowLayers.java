package io.rdmaraw.verbs.flow;

import io.rdmaraw.verbs.abi.FlowEthLayout;
import io.rdmaraw.verbs.abi.FlowIpv6Layout;
import io.rdmaraw.verbs.abi.FlowTcpUdpLayout;

/** The matches of one stack of headers, outer or inner; null where a header is not looked at. */
record FlowLayers(EthernetMatch ethernet, Ipv4Match ipv4, Ipv6Match ipv6, PortMatch ports) {

    boolean isEmpty() {
        return specCount() == 0;
    }

    int specCount() {
        return (ethernet == null ? 0 : 1) + (ipv4 == null ? 0 : 1) + (ipv6 == null ? 0 : 1) + (ports == null ? 0 : 1);
    }

    int encodedLength() {
        return (ethernet == null ? 0 : FlowEthLayout.SIZE_BYTES) + (ipv4 == null ? 0 : ipv4.encodedLength())
                + (ipv6 == null ? 0 : FlowIpv6Layout.SIZE_BYTES) + (ports == null ? 0 : FlowTcpUdpLayout.SIZE_BYTES);
    }

    /** Writes the specs one after the other; returns the address after the last. */
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
