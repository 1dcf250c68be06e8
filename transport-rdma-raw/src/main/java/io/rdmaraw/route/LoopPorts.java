package io.rdmaraw.route;

import io.rdmaraw.wire.IpProtocol;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Who has which port of TCP and UDP: a page for each 256 ports, made when the first of them is taken. Written under its
 * owner's lock; reading takes none and makes no object, as each connection that is opened reads a few times.
 */
final class LoopPorts {
    private static final int PAGE_BITS = 8;
    private static final int PAGE_PORTS = 1 << PAGE_BITS;
    private static final int PAGES = 0x1_0000 >>> PAGE_BITS;
    private static final LoopEndpoint[] NONE = {};

    private final AtomicReferenceArray<AtomicReferenceArray<LoopEndpoint[]>> tcp = new AtomicReferenceArray<>(PAGES);
    private final AtomicReferenceArray<AtomicReferenceArray<LoopEndpoint[]>> udp = new AtomicReferenceArray<>(PAGES);

    /** Returns the pages of a protocol; null for one that has no ports here. */
    private AtomicReferenceArray<AtomicReferenceArray<LoopEndpoint[]>> pages(int protocol) {
        return switch (protocol) {
            case IpProtocol.TCP -> tcp;
            case IpProtocol.UDP -> udp;
            default -> null;
        };
    }

    /**
     * Returns those who share a port, which the caller must not change; empty when nobody has it. The protocol may be
     * any that a packet names.
     */
    LoopEndpoint[] get(int protocol, int port) {
        AtomicReferenceArray<AtomicReferenceArray<LoopEndpoint[]>> pages = pages(protocol);
        AtomicReferenceArray<LoopEndpoint[]> page = pages == null ? null : pages.get(port >>> PAGE_BITS);
        LoopEndpoint[] endpoints = page == null ? null : page.get(port & PAGE_PORTS - 1);
        return endpoints == null ? NONE : endpoints;
    }

    /** Gives a port of TCP or UDP to others than before, to nobody for instance. */
    void set(int protocol, int port, LoopEndpoint[] endpoints) {
        AtomicReferenceArray<AtomicReferenceArray<LoopEndpoint[]>> pages = Objects.requireNonNull(pages(protocol));
        AtomicReferenceArray<LoopEndpoint[]> page = pages.get(port >>> PAGE_BITS);
        if (page == null) {
            page = new AtomicReferenceArray<>(PAGE_PORTS);
            pages.set(port >>> PAGE_BITS, page);
        }
        page.set(port & PAGE_PORTS - 1, endpoints.length == 0 ? null : endpoints);
    }
}
