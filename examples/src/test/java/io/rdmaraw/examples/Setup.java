package io.rdmaraw.examples;

/** A transport and the network on which its servers are reached. */
public enum Setup {
    /** Reached at loopback addresses of this host. Needs no privileges. */
    NIO("nio", null),
    EPOLL("epoll", null),
    IO_URING("io_uring", null),
    RDMA_RAW_LOOP("rdma-raw", "soft:loop"),
    /** On one end of a veth pair, with kernel clients at the other end. Needs namespaces. */
    EPOLL_VETH("epoll", ""),
    RDMA_RAW_PACKET("rdma-raw", "soft:packet:"),
    RDMA_RAW_XDP("rdma-raw", "soft:xdp:");

    private final String transport;
    private final String device;

    Setup(String transport, String device) {
        this.transport = transport;
        this.device = device;
    }

    boolean isOverVeth() {
        return device != null && !device.equals("soft:loop");
    }

    String transport() {
        return transport;
    }

    /** Returns the device on a network interface, or "" for transports without a device. */
    String device(String networkInterface) {
        return device == null || device.isEmpty() ? "" : isOverVeth() ? device + networkInterface : device;
    }
}
