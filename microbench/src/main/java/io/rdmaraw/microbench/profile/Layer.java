package io.rdmaraw.microbench.profile;

import java.util.List;
import java.util.stream.Stream;

/**
 * The layers by which a profile breaks down the time, from the device upwards. {@code docs/design/architecture.md}
 * describes them.
 */
enum Layer {
    KERNEL("kernel"),
    DEVICE("device (softverbs, libibverbs, libmlx5)"),
    QUEUE("queues, memory, verbs"),
    PROTOCOL("TCP, IP, headers"),
    CHANNEL("channels and loops"),
    NETTY("Netty"),
    HANDLER("handlers"),
    JVM("JVM");

    private static final String OURS = "io.rdmaraw.";
    /**
     * Packages of the layers, in order of priority: the first matching prefix decides. {@code tcp.stack.} connects the
     * TCP core to channels, so it counts as part of the channels.
     */
    private static final List<Prefix> PACKAGES = Stream.of(Prefix.of(QUEUE, "verbs.", "ffi.", "queue.", "memory.",
                    "capture."),
            Prefix.of(CHANNEL, "tcp.stack.", "udp.", "channel.", "takeover.", "kernel.", "device.", "loop.",
                    "metrics.", "pcap."),
            Prefix.of(PROTOCOL, "host.", "tcp.", "net.", "netlink.", "wire.")).flatMap(List::stream).toList();

    private record Prefix(Layer layer, String prefix) {
        static List<Prefix> of(Layer layer, String... prefixes) {
            return Stream.of(prefixes).map(prefix -> new Prefix(layer, prefix)).toList();
        }
    }

    private final String text;

    Layer(String text) {
        this.text = text;
    }

    @Override
    public String toString() {
        return text;
    }

    /**
     * Returns the layer of a call, or null if its time belongs to the caller, as for the JDK, libc and memory accesses.
     */
    static Layer of(StackFrame frame) {
        return switch (frame.origin()) {
            case KERNEL -> KERNEL;
            case NATIVE -> ofLibrary(frame.library());
            case JAVA -> ofMethod(frame.name());
        };
    }

    private static Layer ofLibrary(String library) {
        if (library.contains("softverbs") || library.contains("verbs") || library.contains("mlx5")) {
            return DEVICE;
        }
        return library.contains("libjvm") ? JVM : null;
    }

    private static Layer ofMethod(String name) {
        if (name.startsWith("io.netty.")) {
            return NETTY;
        }
        if (!name.startsWith(OURS)) {
            return isOfJdk(name) ? null : HANDLER;
        }
        String inside = name.substring(OURS.length());
        if (inside.startsWith("ffi.NativeMemory.") || inside.startsWith("ffi.NativeCall.")) {
            return null;
        }
        return PACKAGES.stream().filter(each -> inside.startsWith(each.prefix)).map(Prefix::layer).findFirst()
                .orElse(HANDLER);
    }

    private static boolean isOfJdk(String name) {
        return List.of("java.", "jdk.", "sun.", "com.sun.").stream().anyMatch(name::startsWith);
    }
}
