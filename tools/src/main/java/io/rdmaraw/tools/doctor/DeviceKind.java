package io.rdmaraw.tools.doctor;

import java.util.List;

/** The kind of a device, derived from its name, with the capabilities that it needs. */
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

    /** Returns the capabilities without which the device cannot be opened. */
    List<Capability> capabilities() {
        return capabilities;
    }

    /** Returns the capabilities without which the device has fewer features. */
    List<Capability> usefulCapabilities() {
        return usefulCapabilities;
    }

    /** Returns the network device or RDMA device in a device name; empty for the loop device. */
    String underlyingDevice(String device) {
        return this == LOOP ? "" : device.substring(prefix.length());
    }
}
