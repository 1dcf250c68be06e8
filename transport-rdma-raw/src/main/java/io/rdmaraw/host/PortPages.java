package io.rdmaraw.host;

import io.rdmaraw.wire.IpProtocol;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * The ports of TCP and UDP that are in use: a page for each 256 numbers, made when the first of them is taken. Written
 * under the lock of the {@link PortTable}; a read takes no lock and makes no object, as each connection that is opened
 * reads several times.
 */
final class PortPages {
    private static final int PAGE_BITS = 8;
    private static final int PAGE_PORTS = 1 << PAGE_BITS;
    private static final int PAGES = 0x1_0000 >>> PAGE_BITS;
    private static final BoundPort[] NONE = {};

    private final AtomicReferenceArray<AtomicReferenceArray<BoundPort[]>> tcp = new AtomicReferenceArray<>(PAGES);
    private final AtomicReferenceArray<AtomicReferenceArray<BoundPort[]>> udp = new AtomicReferenceArray<>(PAGES);

    /** Returns the pages of a protocol; null for one that has no ports here. */
    private AtomicReferenceArray<AtomicReferenceArray<BoundPort[]>> pages(int protocol) {
        return switch (protocol) {
            case IpProtocol.TCP -> tcp;
            case IpProtocol.UDP -> udp;
            default -> null;
        };
    }

    /**
     * Returns those that share a port number, which the caller must not change; empty when it is free. The protocol
     * may be any that a packet names.
     */
    BoundPort[] get(int protocol, int port) {
        AtomicReferenceArray<AtomicReferenceArray<BoundPort[]>> pages = pages(protocol);
        AtomicReferenceArray<BoundPort[]> page = pages == null ? null : pages.get(port >>> PAGE_BITS);
        BoundPort[] bound = page == null ? null : page.get(port & PAGE_PORTS - 1);
        return bound == null ? NONE : bound;
    }

    /** Replaces those that share a port number of TCP or UDP; none make it free. */
    void set(int protocol, int port, BoundPort[] bound) {
        AtomicReferenceArray<AtomicReferenceArray<BoundPort[]>> pages = Objects.requireNonNull(pages(protocol));
        AtomicReferenceArray<BoundPort[]> page = pages.get(port >>> PAGE_BITS);
        if (page == null) {
            page = new AtomicReferenceArray<>(PAGE_PORTS);
            pages.set(port >>> PAGE_BITS, page);
        }
        page.set(port & PAGE_PORTS - 1, bound.length == 0 ? null : bound);
    }
}
