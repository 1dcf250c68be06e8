package io.rdmaraw.tools.profile;

import java.util.List;

/** Whose time it is, from the device upwards; {@code docs/architecture.md} has the layers. */
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

    private final String text;

    Layer(String text) {
        this.text = text;
    }

    @Override
    public String toString() {
        return text;
    }

    /** Returns the layer of a call, or null of what belongs to its caller: the JDK, libc, an access to memory. */
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
        for (String each : List.of("verbs.", "ffi.", "queue.", "memory.")) {
            if (inside.startsWith(each)) {
                return QUEUE;
            }
        }
        for (String each : List.of("host.", "tcp.", "route.", "wire.")) {
            if (inside.startsWith(each)) {
                return PROTOCOL;
            }
        }
        return inside.startsWith("channel.") || inside.startsWith("loop.") ? CHANNEL : HANDLER;
    }

    private static boolean isOfJdk(String name) {
        return List.of("java.", "jdk.", "sun.", "com.sun.").stream().anyMatch(name::startsWith);
    }
}
