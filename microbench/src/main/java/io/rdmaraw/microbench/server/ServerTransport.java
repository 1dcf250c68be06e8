package io.rdmaraw.microbench.server;

import io.rdmaraw.examples.server.Transport;

/** The transport of a server under load. */
enum ServerTransport {
    RDMA_RAW("rdma-raw", "soft:xdp"),
    EPOLL("epoll", "veth"),
    IO_URING("io_uring", "veth"),
    NIO("nio", "veth");

    private final String text;
    private final String device;

    ServerTransport(String text, String device) {
        this.text = text;
        this.device = device;
    }

    String text() {
        return text;
    }

    String device() {
        return device;
    }

    static ServerTransport of(Transport transport) {
        return valueOf(transport.name());
    }

    String[] options(String networkInterface) {
        return this == RDMA_RAW
                ? new String[] {"--transport", text, "--device", device + ':' + networkInterface}
                : new String[] {"--transport", text};
    }
}
