package io.rdmaraw.tools.doctor;

import java.util.List;

/** What stands behind a device name, and what it therefore needs. */
enum DeviceKind {
    LOOP("soft:loop", List.of()),
    XDP("soft:xdp:", List.of(Capability.CAP_NET_RAW, Capability.CAP_NET_ADMIN, Capability.CAP_BPF)),
    PACKET("soft:packet:", List.of(Capability.CAP_NET_RAW, Capability.CAP_NET_ADMIN)),
    RDMA("", List.of(Capability.CAP_NET_RAW));

    private final String prefix;
    private final List<Capability> capabilities;

    DeviceKind(String prefix, List<Capability> capabilities) {
        this.prefix = prefix;
        this.capabilities = capabilities;
    }

    static DeviceKind of(String device) {
        for (DeviceKind kind : values()) {
            if (device.startsWith(kind.prefix)) {
                return kind;
            }
        }
        throw new AssertionError("RDMA takes every name");
    }

    List<Capability> capabilities() {
        return capabilities;
    }

    /** The part of a device name that names a network device or an RDMA device; empty for the loop device. */
    String behind(String device) {
        return this == LOOP ? "" : device.substring(prefix.length());
    }

    boolean locksMemory() {
        return this == XDP || this == RDMA;
    }
}
