package io.rdmaraw.microbench.server;

import io.rdmaraw.examples.server.OptionNames;
import io.rdmaraw.examples.server.Transport;
import java.util.ArrayList;
import java.util.List;

/** The transport of a server under load. */
enum ServerTransport {
    RDMA_RAW("rdma-raw", Transport.RDMA_RAW),
    EPOLL("epoll", Transport.EPOLL),
    IO_URING("io_uring", Transport.IO_URING),
    NIO("nio", Transport.NIO),
    /** This transport, with Netty's pooled allocator for the buffers of connections. */
    RDMA_RAW_POOLED("rdma-raw-pooled", Transport.RDMA_RAW, "--allocator", "pooled"),
    /** This transport, with Netty's pooled allocator on the Java heap. */
    RDMA_RAW_HEAP("rdma-raw-heap", Transport.RDMA_RAW, "--allocator", "heap"),
    /** This transport, with a separate event loop group that accepts connections. */
    RDMA_RAW_BOSS("rdma-raw-boss", Transport.RDMA_RAW, "--boss-group");

    private final String text;
    private final Transport transport;
    private final List<String> settings;

    ServerTransport(String text, Transport transport, String... settings) {
        this.text = text;
        this.transport = transport;
        this.settings = List.of(settings);
    }

    /** Returns the name in options and in rows. */
    String text() {
        return text;
    }

    /** Returns the name of the transport in the examples. */
    Transport transport() {
        return transport;
    }

    String device() {
        return isRdmaRaw() ? "soft:xdp" : "veth";
    }

    /** Returns whether the transport has additional settings, which only the server of {@code bench http} supports. */
    boolean hasSettings() {
        return !settings.isEmpty();
    }

    private boolean isRdmaRaw() {
        return transport == Transport.RDMA_RAW;
    }

    String[] options(String networkInterface) {
        List<String> options = new ArrayList<>(List.of("--transport", transport.toString()));
        if (isRdmaRaw()) {
            options.addAll(List.of("--device", device() + ':' + networkInterface));
        }
        options.addAll(settings);
        return options.toArray(String[]::new);
    }

    /** Parses the names in the options of commands. */
    static final class Names extends OptionNames<ServerTransport> {
        private static final long serialVersionUID = 1L;

        /** Called by picocli. */
        Names() {
            super(values(), ServerTransport::text);
        }
    }
}
