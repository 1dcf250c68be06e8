package io.rdmaraw.microbench.server;

import io.rdmaraw.examples.server.OptionNames;
import java.util.ArrayList;
import java.util.List;

/** The transport of a server under load, and what its program sets. */
enum ServerTransport {
    RDMA_RAW("rdma-raw", "soft:xdp"),
    EPOLL("epoll", "veth"),
    IO_URING("io_uring", "veth"),
    NIO("nio", "veth"),
    /** Ours, with Netty's pooled allocator for the buffers of connections. */
    RDMA_RAW_POOLED("rdma-raw-pooled", "soft:xdp", "--allocator", "pooled"),
    /** Ours, with the same on the Java heap. */
    RDMA_RAW_HEAP("rdma-raw-heap", "soft:xdp", "--allocator", "heap"),
    /** Ours, with a group of its own that accepts connections. */
    RDMA_RAW_BOSS("rdma-raw-boss", "soft:xdp", "--boss-group");

    private final String text;
    private final String device;
    private final List<String> settings;

    ServerTransport(String text, String device, String... settings) {
        this.text = text;
        this.device = device;
        this.settings = List.of(settings);
    }

    /** Returns its name in options and in rows. */
    String text() {
        return text;
    }

    String device() {
        return device;
    }

    /** Returns whether its server has to know more options than which transport. */
    boolean hasSettings() {
        return !settings.isEmpty();
    }

    private boolean isOurs() {
        return device.equals(RDMA_RAW.device);
    }

    String[] options(String networkInterface) {
        List<String> options = new ArrayList<>(List.of("--transport", isOurs() ? RDMA_RAW.text : text));
        if (isOurs()) {
            options.addAll(List.of("--device", device + ':' + networkInterface));
        }
        options.addAll(settings);
        return options.toArray(String[]::new);
    }

    /** The names in options of commands. */
    static final class Names extends OptionNames<ServerTransport> {
        private static final long serialVersionUID = 1L;

        /** picocli creates it. */
        Names() {
            super(values(), ServerTransport::text);
        }
    }
}
