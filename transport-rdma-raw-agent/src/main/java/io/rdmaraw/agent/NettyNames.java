package io.rdmaraw.agent;

import java.lang.constant.ClassDesc;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The classes of Netty that stand for a transport, for Netty in one package: its own, or one that it was moved to. */
final class NettyNames {
    /** What is replaced, and by what of the same purpose. */
    enum Kind {
        SOCKET("channel.socket.SocketChannel", "channel.socket.nio.NioSocketChannel",
                "io.rdmaraw.channel.RdmaRawSocketChannel"),
        SERVER("channel.socket.ServerSocketChannel", "channel.socket.nio.NioServerSocketChannel",
                "io.rdmaraw.channel.RdmaRawServerSocketChannel"),
        DATAGRAM("channel.socket.DatagramChannel", "channel.socket.nio.NioDatagramChannel",
                "io.rdmaraw.channel.RdmaRawDatagramChannel"),
        GROUP("channel.MultiThreadIoEventLoopGroup", null, "io.rdmaraw.channel.RdmaRawEventLoopGroup");

        /** The type of both, that what is rewritten deals with; in Netty's package. */
        final String common;
        /** The kernel's channel that these loops can drive; in Netty's package. */
        final String nio;
        /** The class of this transport. */
        final String replacement;

        Kind(String common, String nio, String replacement) {
            this.common = common;
            this.nio = nio;
            this.replacement = replacement;
        }
    }

    private static final List<String> TRANSPORT_PACKAGES =
            List.of("channel.nio.", "channel.socket.nio.", "channel.epoll.", "channel.uring.", "channel.kqueue.");

    private final String nettyPackage;
    private final String internalPrefix;
    private final Map<ClassDesc, Kind> replaced = new HashMap<>();
    private final Set<ClassDesc> handlers = new HashSet<>();
    private final ClassDesc multiThreadGroup;

    NettyNames(String nettyPackage) {
        this.nettyPackage = nettyPackage;
        internalPrefix = nettyPackage.replace('.', '/') + "/channel/";
        for (String prefix : List.of("channel.socket.nio.Nio", "channel.epoll.Epoll", "channel.uring.IoUring")) {
            replaced.put(type(prefix + "SocketChannel"), Kind.SOCKET);
            replaced.put(type(prefix + "ServerSocketChannel"), Kind.SERVER);
            replaced.put(type(prefix + "DatagramChannel"), Kind.DATAGRAM);
        }
        replaced.put(type("channel.nio.NioEventLoopGroup"), Kind.GROUP);
        replaced.put(type("channel.epoll.EpollEventLoopGroup"), Kind.GROUP);
        multiThreadGroup = type(Kind.GROUP.common);
        for (String handler : List.of("channel.nio.NioIoHandler", "channel.epoll.EpollIoHandler",
                "channel.uring.IoUringIoHandler")) {
            handlers.add(type(handler));
        }
    }

    private ClassDesc type(String nameInPackage) {
        return ClassDesc.of(nettyPackage + "." + nameInPackage);
    }

    /** Returns Netty's package, in its form in Java. */
    String nettyPackage() {
        return nettyPackage;
    }

    /** Returns what the names of all classes of Netty's transports begin with in class files. */
    String internalPrefix() {
        return internalPrefix;
    }

    /** Returns what a class is replaced as, or null. */
    Kind kind(ClassDesc type) {
        return replaced.get(type);
    }

    /** Returns the type that stands for a replaced class in the code that used it. */
    ClassDesc common(Kind kind) {
        return type(kind.common);
    }

    /** Maps the types in descriptors. */
    ClassDesc mapped(ClassDesc type) {
        if (type.isArray()) {
            return mapped(type.componentType()).arrayType();
        }
        Kind kind = replaced.get(type);
        return kind == null ? type : common(kind);
    }

    /** Maps a text of a class file: the name of a class, a descriptor or a signature. */
    String mapped(String text) {
        if (!text.contains(internalPrefix)) {
            return text;
        }
        String mapped = text;
        for (Map.Entry<ClassDesc, Kind> entry : replaced.entrySet()) {
            String original = entry.getKey().descriptorString();
            String common = common(entry.getValue()).descriptorString();
            if (text.equals(original.substring(1, original.length() - 1))) {
                return common.substring(1, common.length() - 1);
            }
            mapped = mapped.replace(original, common);
        }
        return mapped;
    }

    boolean isHandler(ClassDesc type) {
        return handlers.contains(type);
    }

    /**
     * Tells whether a class, named with dots, is one of I/O handlers that this transport does without. NIO's it uses
     * itself.
     */
    boolean isForeignHandler(String className) {
        return className.startsWith(nettyPackage + ".channel.") && !className.contains(".nio.")
                && handlers.contains(ClassDesc.of(className));
    }

    boolean isMultiThreadGroup(ClassDesc type) {
        return multiThreadGroup.equals(type);
    }

    /** Tells whether a class is one of Netty's transports, which are not rewritten. Both separated by dots. */
    boolean isTransport(String className) {
        return className.startsWith(nettyPackage + ".")
                && TRANSPORT_PACKAGES.stream().anyMatch(part -> className.startsWith(part, nettyPackage.length() + 1));
    }
}
