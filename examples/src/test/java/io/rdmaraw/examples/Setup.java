package io.rdmaraw.examples;

/** Transports, and what a server on them can be reached by. */
public enum Setup {
    /** On this host, by its loopback addresses; needs no privileges. */
    NIO("nio", null),
    EPOLL("epoll", null),
    IO_URING("io_uring", null),
    RDMA_RAW_LOOP("rdma-raw", "soft:loop"),
    /** On one end of a veth pair, with clients of the kernel at the other; needs namespaces. */
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

    /** The device on a network interface, or "" for transports that need none. */
    String device(String networkInterface) {
        return device == null || device.isEmpty() ? "" : isOverVeth() ? device + networkInterface : device;
    }
}
