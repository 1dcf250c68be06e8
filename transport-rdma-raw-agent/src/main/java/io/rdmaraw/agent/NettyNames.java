package io.rdmaraw.agent;

import java.lang.constant.ClassDesc;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The names of Netty's transport classes in one package: {@code io.netty} or the package to which Netty was relocated.
 */
final class NettyNames {
    static final ClassDesc SELECTOR_PROVIDER = ClassDesc.of("java.nio.channels.spi.SelectorProvider");
    static final ClassDesc CONSTRUCTOR = ClassDesc.of("java.lang.reflect.Constructor");

    /** The kinds of channels. */
    enum Kind {
        SOCKET("channel.socket.SocketChannel", "channel.socket.nio.NioSocketChannel",
                "io.rdmaraw.channel.RdmaRawSocketChannel"),
        SERVER("channel.socket.ServerSocketChannel", "channel.socket.nio.NioServerSocketChannel",
                "io.rdmaraw.channel.RdmaRawServerSocketChannel"),
        DATAGRAM("channel.socket.DatagramChannel", "channel.socket.nio.NioDatagramChannel",
                "io.rdmaraw.channel.RdmaRawDatagramChannel");

        /** The interface of all channels of this kind, which rewritten code uses. Relative to Netty's package. */
        final String interfaceName;
        /** The NIO channel class, which the transport's loops can drive. Relative to Netty's package. */
        final String nio;
        /** The transport's channel class. */
        final String replacement;

        Kind(String interfaceName, String nio, String replacement) {
            this.interfaceName = interfaceName;
            this.nio = nio;
            this.replacement = replacement;
        }
    }

    private static final List<String> TRANSPORT_PACKAGES =
            List.of("channel.nio.", "channel.socket.nio.", "channel.epoll.", "channel.uring.", "channel.kqueue.");
    private static final List<String> CHANNEL_PREFIXES =
            List.of("channel.socket.nio.Nio", "channel.epoll.Epoll", "channel.uring.IoUring");

    private final String nettyPackage;
    private final String internalPrefix;
    private final Map<ClassDesc, Kind> channels = new HashMap<>();
    private final Map<ClassDesc, String> transports = new HashMap<>();
    private final Set<ClassDesc> loops = new HashSet<>();
    private final Set<ClassDesc> handlers = new HashSet<>();
    private final Set<ClassDesc> groups = new HashSet<>();
    private final ClassDesc multiThreadGroup;
    private final List<String> internalTypePrefixes;

    NettyNames(String nettyPackage) {
        this.nettyPackage = nettyPackage;
        internalPrefix = nettyPackage.replace('.', '/') + "/channel/";
        internalTypePrefixes = Stream.concat(CHANNEL_PREFIXES.stream(), Stream.of("channel.nio.Nio"))
                .map(prefix -> (nettyPackage + "." + prefix).replace('.', '/')).toList();
        for (String prefix : CHANNEL_PREFIXES) {
            addChannel(prefix, "SocketChannel", Kind.SOCKET);
            addChannel(prefix, "ServerSocketChannel", Kind.SERVER);
            addChannel(prefix, "DatagramChannel", Kind.DATAGRAM);
        }
        multiThreadGroup = type("channel.MultiThreadIoEventLoopGroup");
        groups.addAll(List.of(multiThreadGroup, type("channel.nio.NioEventLoopGroup"),
                type("channel.epoll.EpollEventLoopGroup")));
        handlers.addAll(List.of(type("channel.nio.NioIoHandler"), type("channel.epoll.EpollIoHandler"),
                type("channel.uring.IoUringIoHandler")));
        loops.add(type("channel.nio.NioEventLoop"));
        loops.addAll(handlers);
    }

    private void addChannel(String prefix, String suffix, Kind kind) {
        ClassDesc channel = type(prefix + suffix);
        channels.put(channel, kind);
        transports.put(channel, prefix);
    }

    private ClassDesc type(String nameInPackage) {
        return ClassDesc.of(nettyPackage + "." + nameInPackage);
    }

    /** Returns Netty's package with dots. */
    String nettyPackage() {
        return nettyPackage;
    }

    /** Returns the prefix of Netty's channel classes in class files. */
    String internalPrefix() {
        return internalPrefix;
    }

    /** Returns whether the text of a class file may contain the name of a channel or loop class. */
    boolean mayReferToType(String classFileText) {
        return internalTypePrefixes.stream().anyMatch(classFileText::contains);
    }

    ClassDesc channel() {
        return type("channel.Channel");
    }

    ClassDesc channelPromise() {
        return type("channel.ChannelPromise");
    }

    ClassDesc channelFuture() {
        return type("channel.ChannelFuture");
    }

    ClassDesc eventLoop() {
        return type("channel.EventLoop");
    }

    ClassDesc channelFactory() {
        return type("channel.ReflectiveChannelFactory");
    }

    /** Returns the kind of a channel class, or null if the type is none. */
    Kind kind(ClassDesc type) {
        return channels.get(type);
    }

    /** Returns an identifier of the transport that a channel class belongs to, or null. */
    String transportOf(ClassDesc type) {
        return transports.get(type);
    }

    /** Returns whether a type is an event loop or I/O handler class that the transport replaces. */
    boolean isLoop(ClassDesc type) {
        return loops.contains(type);
    }

    /** Returns the I/O handler class for a channel class of epoll or io_uring; null for other channels. */
    String foreignHandler(String channelClass) {
        if (channelClass.startsWith(nettyPackage + ".channel.epoll.")) {
            return nettyPackage + ".channel.epoll.EpollIoHandler";
        }
        return channelClass.startsWith(nettyPackage + ".channel.uring.")
                ? nettyPackage + ".channel.uring.IoUringIoHandler" : null;
    }

    /** Returns the interface that replaces channel classes of a kind in rewritten code. */
    ClassDesc interfaceOf(Kind kind) {
        return type(kind.interfaceName);
    }

    /** Maps a type of a descriptor. */
    ClassDesc mapped(ClassDesc type) {
        if (type.isArray()) {
            return mapped(type.componentType()).arrayType();
        }
        Kind kind = channels.get(type);
        return kind == null ? type : interfaceOf(kind);
    }

    /** Maps the text of a class file: a class name, a descriptor or a signature. */
    String mapped(String text) {
        if (!text.contains(internalPrefix)) {
            return text;
        }
        String mapped = text;
        for (Map.Entry<ClassDesc, Kind> entry : channels.entrySet()) {
            String original = entry.getKey().descriptorString();
            String interfaceName = interfaceOf(entry.getValue()).descriptorString();
            if (text.equals(original.substring(1, original.length() - 1))) {
                return interfaceName.substring(1, interfaceName.length() - 1);
            }
            mapped = mapped.replace(original, interfaceName);
        }
        return mapped;
    }

    boolean isHandler(ClassDesc type) {
        return handlers.contains(type);
    }

    boolean isMultiThreadGroup(ClassDesc type) {
        return multiThreadGroup.equals(type);
    }

    /** Returns whether {@link NettyRewriter} rewrites a class of Netty, given by its name with dots. */
    boolean isRewritten(String className) {
        if (!className.startsWith(nettyPackage + ".channel.") || className.indexOf('$') >= 0) {
            return false;
        }
        ClassDesc type = ClassDesc.of(className);
        return handlers.contains(type) || groups.contains(type) || type.equals(channelFactory());
    }

    /**
     * Returns whether a class, given by its name with dots, belongs to one of Netty's transports. Those classes keep
     * the types of their members.
     */
    boolean isTransport(String className) {
        return className.startsWith(nettyPackage + ".")
                && TRANSPORT_PACKAGES.stream().anyMatch(part -> className.startsWith(part, nettyPackage.length() + 1));
    }
}
