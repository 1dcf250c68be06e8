package io.rdmaraw.tools.doctor;

import java.util.List;

/** The kind of device behind a name, and what it needs. */
enum DeviceKind {
    LOOP("soft:loop", List.of(), List.of()),
    XDP("soft:xdp:", List.of(Capability.CAP_NET_RAW, Capability.CAP_NET_ADMIN, Capability.CAP_BPF), List.of()),
    PACKET("soft:packet:", List.of(Capability.CAP_NET_RAW), List.of(Capability.CAP_NET_ADMIN, Capability.CAP_BPF)),
    RDMA("", List.of(Capability.CAP_NET_RAW), List.of());

    private final String prefix;
    private final List<Capability> capabilities;
    private final List<Capability> usefulCapabilities;

    DeviceKind(String prefix, List<Capability> capabilities, List<Capability> usefulCapabilities) {
        this.prefix = prefix;
        this.capabilities = capabilities;
        this.usefulCapabilities = usefulCapabilities;
    }

    static DeviceKind of(String device) {
        for (DeviceKind kind : values()) {
            if (device.startsWith(kind.prefix)) {
                return kind;
            }
        }
        throw new AssertionError("RDMA takes every name");
    }

    /** Capabilities without which the device cannot be opened. */
    List<Capability> capabilities() {
        return capabilities;
    }

    /** Capabilities without which the device has fewer features. */
    List<Capability> usefulCapabilities() {
        return usefulCapabilities;
    }

    /** The part of a device name that names a network device or an RDMA device; empty for the loop device. */
    String behind(String device) {
        return this == LOOP ? "" : device.substring(prefix.length());
    }
}
