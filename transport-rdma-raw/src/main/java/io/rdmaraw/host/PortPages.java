package io.rdmaraw.host;

import io.rdmaraw.wire.IpProtocol;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * The TCP and UDP ports in use. Each page has 256 port numbers and is allocated when the first of them is used. Writes
 * need the lock of the {@link PortTable}. Reads are lock-free and allocate nothing, because each new connection reads
 * several times.
 */
final class PortPages {
    private static final int PAGE_BITS = 8;
    private static final int PAGE_PORTS = 1 << PAGE_BITS;
    private static final int PAGES = 0x1_0000 >>> PAGE_BITS;
    private static final BoundPort[] NONE = {};

    private final AtomicReferenceArray<AtomicReferenceArray<BoundPort[]>> tcp = new AtomicReferenceArray<>(PAGES);
    private final AtomicReferenceArray<AtomicReferenceArray<BoundPort[]>> udp = new AtomicReferenceArray<>(PAGES);

    /** Returns the pages of a protocol; null if the protocol has no ports. */
    private AtomicReferenceArray<AtomicReferenceArray<BoundPort[]>> pages(int protocol) {
        return switch (protocol) {
            case IpProtocol.TCP -> tcp;
            case IpProtocol.UDP -> udp;
            default -> null;
        };
    }

    /**
     * Returns the entries of a port number, which the caller must not modify. Empty if the port is free. Accepts any
     * protocol number.
     */
    BoundPort[] get(int protocol, int port) {
        AtomicReferenceArray<AtomicReferenceArray<BoundPort[]>> pages = pages(protocol);
        AtomicReferenceArray<BoundPort[]> page = pages == null ? null : pages.get(port >>> PAGE_BITS);
        BoundPort[] bound = page == null ? null : page.get(port & PAGE_PORTS - 1);
        return bound == null ? NONE : bound;
    }

    /** Replaces the entries of a TCP or UDP port number. An empty array frees the port. */
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
