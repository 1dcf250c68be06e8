package io.rdmaraw.agent;

import java.io.IOException;
import java.lang.constant.ClassDesc;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;

/** The transport for one copy of Netty in the process, or the reason why there is none. Thread-safe. */
final class LoadedTransport {
    private static final String CHANNEL_PACKAGE = "io.rdmaraw.channel.";

    /** Keyed by the channel class, so that the transport lives as long as its copy of Netty. */
    private static final ClassValue<Holder> BY_CHANNEL_TYPE = new ClassValue<>() {
        @Override
        protected Holder computeValue(Class<?> channelType) {
            return new Holder(channelType);
        }
    };

    /** Loads the transport once. Other threads wait for it. */
    private static final class Holder {
        private final Class<?> channelType;
        private LoadedTransport transport;
        private boolean isLoading;

        Holder(Class<?> channelType) {
            this.channelType = channelType;
        }

        /**
         * Returns the transport. Returns null while this thread is loading it, because the transport itself creates
         * Netty's own loops and channels.
         */
        synchronized LoadedTransport get() {
            if (transport == null && !isLoading) {
                isLoading = true;
                try {
                    transport = load(Agent.instance(), channelType);
                } finally {
                    isLoading = false;
                }
            }
            return transport;
        }
    }

    /**
     * Whether a copy of the transport uses the device. A second copy of Netty would need a second copy of the
     * transport, which could not open the device.
     */
    private static final AtomicBoolean USED = new AtomicBoolean();

    private final AgentOptions options;
    private final NettyNames names;
    private final NettyCopy copy;
    private final ClassLoader netty;
    private final ClassLoader classes;
    private final Object config;
    private final Map<NettyNames.Kind, MethodHandle> newChannels = new ConcurrentHashMap<>();
    /** Transports of Netty of which the program has created channels. */
    private final Set<String> usedTransports = ConcurrentHashMap.newKeySet();
    /** Executors of the groups that have the transport's loops. */
    private final Map<Object, Executor> executors = Collections.synchronizedMap(new WeakHashMap<>());
    private final Map<Object, Map<Class<?>, Object>> companions = new WeakHashMap<>();

    private LoadedTransport(AgentOptions options, NettyNames names, NettyCopy copy, ClassLoader netty,
            ClassLoader classes, Object config) {
        this.options = options;
        this.names = names;
        this.copy = copy;
        this.netty = netty;
        this.classes = classes;
        this.config = config;
    }

    /**
     * Returns the transport for the copy of Netty that a class loader sees; null if the program has to run without it.
     */
    static LoadedTransport of(ClassLoader user, String nettyPackage) {
        Class<?> channelType;
        try {
            channelType = Class.forName(nettyPackage + ".channel.Channel", false, user);
        } catch (ClassNotFoundException e) {
            return null;
        }
        LoadedTransport transport = BY_CHANNEL_TYPE.get(channelType).get();
        return transport == null || transport.config == null ? null : transport;
    }

    /** Returns the transport of an object; null if the object's class is not one of the transport. */
    static LoadedTransport ofObject(Object value) {
        return value != null && value.getClass().getClassLoader() instanceof TransportLoader loader
                ? loader.transport() : null;
    }

    private static LoadedTransport load(Agent agent, Class<?> channelType) {
        ClassLoader netty = channelType.getClassLoader();
        NettyNames names = new NettyNames(channelType.getPackageName().substring(0,
                channelType.getPackageName().length() - ".channel".length()));
        NettyCopy copy = NettyCopy.of(netty, names);
        boolean isUser = false;
        try {
            if (copy.refusal() != null) {
                throw new IOException(copy.refusal());
            }
            TransportLoader classes = new TransportLoader(agent.jars().unpack(), netty, names.nettyPackage());
            isUser = USED.compareAndSet(false, true);
            if (!isUser) {
                throw new IOException("another copy of Netty in this process uses the device already, and "
                        + copy.version() + " of " + names.nettyPackage()
                        + " would want it too; the kernel carries that copy's channels");
            }
            LoadedTransport transport = new LoadedTransport(agent.options(), names, copy, netty, classes,
                    config(agent.options(), classes));
            Throwable cause = (Throwable) transport.type("RdmaRaw").getMethod("unavailabilityCause",
                    transport.config.getClass()).invoke(null, transport.config);
            if (cause != null) {
                throw cause;
            }
            classes.setTransport(transport);
            agent.report().enabled(copy.version());
            return transport;
        } catch (Throwable e) {
            if (isUser) {
                USED.set(false);
            }
            Throwable cause = e instanceof InvocationTargetException ? e.getCause() : e;
            agent.report().disabled(cause instanceof LinkageError && !(cause instanceof UnsatisfiedLinkError)
                    ? copy.version() + " and the transport do not fit together: " + cause
                    : cause.getMessage() == null ? cause.toString() : cause.getMessage());
            return new LoadedTransport(agent.options(), names, copy, netty, null, null);
        }
    }

    private static Object config(AgentOptions options, ClassLoader classes) throws ReflectiveOperationException {
        Class<?> configType = Class.forName(CHANNEL_PACKAGE + "RdmaRawIoHandlerConfig", true, classes);
        Class<?> nioChannels = Class.forName(CHANNEL_PACKAGE + "NioChannels", true, classes);
        Object builder = configType.getMethod("builder").invoke(null);
        Class<?> builderType = builder.getClass();
        builderType.getMethod("device", String.class).invoke(builder, options.device());
        builderType.getMethod("nioChannels", nioChannels).invoke(builder,
                nioChannels.getField("ALLOWED").get(null));
        builderType.getMethod("listensByDevice", Predicate.class).invoke(builder, options.listensByDevice());
        builderType.getMethod("connectsByDevice", Predicate.class).invoke(builder, options.connectsByDevice());
        return builderType.getMethod("build").invoke(builder);
    }

    private Class<?> type(String simpleName) throws ClassNotFoundException {
        return Class.forName(CHANNEL_PACKAGE + simpleName, true, classes);
    }

    /** Returns whether the options allow channels of a kind on the device. */
    private boolean isByDevice(NettyNames.Kind kind) {
        return switch (kind) {
            case SOCKET -> !options.connect().isEmpty();
            case SERVER -> !options.listen().isEmpty();
            case DATAGRAM -> options.udp();
        };
    }

    /** Returns the channel class that replaces others of its kind on the transport's loops. */
    Class<?> channelType(NettyNames.Kind kind, String nettyPackage) throws ClassNotFoundException {
        return isByDevice(kind) ? Class.forName(kind.replacement, true, classes)
                : Class.forName(nettyPackage + "." + kind.nio, false, netty);
    }

    /** Returns a handle that creates channels of a kind. Its argument is an IP version or null. */
    MethodHandle newChannel(NettyNames.Kind kind, String nettyPackage) throws ReflectiveOperationException {
        MethodHandle known = newChannels.get(kind);
        if (known == null) {
            known = findNewChannel(kind, nettyPackage);
            newChannels.put(kind, known);
        }
        return known;
    }

    private MethodHandle findNewChannel(NettyNames.Kind kind, String nettyPackage) throws ReflectiveOperationException {
        Class<?> type = channelType(kind, nettyPackage);
        MethodHandles.Lookup lookup = MethodHandles.publicLookup();
        Class<?> family = Class.forName(nettyPackage + ".channel.socket.SocketProtocolFamily", false, netty);
        return kind == NettyNames.Kind.DATAGRAM
                ? lookup.findConstructor(type, MethodType.methodType(void.class, family))
                : MethodHandles.dropArguments(lookup.findConstructor(type, MethodType.methodType(void.class)), 0,
                        family);
    }

    /**
     * Wraps a handle so that the created channels receive into buffers of Netty's default allocator, as those of
     * Netty's own transports do.
     *
     * @param newChannel handle that creates the channels
     */
    MethodHandle withDefaultAllocator(MethodHandle newChannel, String nettyPackage)
            throws ReflectiveOperationException {
        Class<?> channelType = Class.forName(nettyPackage + ".channel.Channel", false, netty);
        Class<?> configType = Class.forName(nettyPackage + ".channel.ChannelConfig", false, netty);
        Class<?> allocatorType = Class.forName(nettyPackage + ".buffer.ByteBufAllocator", true, netty);
        MethodHandles.Lookup lookup = MethodHandles.publicLookup();
        MethodHandle setDefault = MethodHandles.insertArguments(lookup.findVirtual(configType, "setAllocator",
                MethodType.methodType(configType, allocatorType)), 1, allocatorType.getField("DEFAULT").get(null));
        MethodHandle set = MethodHandles.filterReturnValue(lookup.findVirtual(channelType, "config",
                MethodType.methodType(configType)), setDefault);
        Class<?> made = newChannel.type().returnType();
        return MethodHandles.filterReturnValue(newChannel, MethodHandles.foldArguments(MethodHandles.identity(made),
                set.asType(MethodType.methodType(void.class, made))));
    }

    /** Returns a handle that creates factories of the transport's I/O handlers. */
    MethodHandle newFactory() throws ReflectiveOperationException {
        Class<?> handlerType = type("RdmaRawIoHandler");
        return MethodHandles.publicLookup().unreflect(handlerType.getMethod("newFactory", config.getClass()))
                .bindTo(config);
    }

    /**
     * Creates a loop for a group of Netty's own class.
     *
     * @param arguments further arguments of the group's {@code newChild}, after the factory
     */
    Object newLoop(Object group, Executor executor, Object factory, Object[] arguments)
            throws ReflectiveOperationException {
        executors.put(group, executor);
        return invoke("newLoop", group, executor, factory, arguments);
    }

    /** Returns the loop of a group that receives the segments of an accepted channel, or null. */
    Object receivingLoop(Object group, Object channel) throws ReflectiveOperationException {
        return invoke("receivingLoop", group, channel);
    }

    /** Returns a group with Netty's own loops, for channels that the loops of {@code group} cannot drive. */
    Object companion(Object group, Class<?> handlerType) throws ReflectiveOperationException {
        synchronized (companions) {
            Map<Class<?>, Object> ofGroup = companions.computeIfAbsent(group, key -> new HashMap<>());
            Object companion = ofGroup.get(handlerType);
            if (companion == null) {
                companion = invoke("newCompanion", group, executors.get(group), handlerType);
                ofGroup.put(handlerType, companion);
            }
            return companion;
        }
    }

    private Object invoke(String name, Object... arguments) throws ReflectiveOperationException {
        for (Method method : type("RdmaRawEventLoopGroup").getDeclaredMethods()) {
            if (method.getName().equals(name)) {
                method.setAccessible(true);
                return method.invoke(null, arguments);
            }
        }
        throw new NoSuchMethodException(name);
    }

    /**
     * Returns whether objects of the transport replace those of one of Netty's classes. Returns false once a class has
     * been found that requires Netty's own objects; the transport's groups can drive those, too.
     */
    boolean replaces(String original) {
        if (copy.refusal() != null) {
            return false;
        }
        ClassDesc type = ClassDesc.of(original);
        if (names.transportOf(type) != null) {
            usedTransports.add(names.transportOf(type));
        }
        return true;
    }

    /**
     * Returns whether a value counts as an instance of one of Netty's channel classes: it is one, or it is the
     * transport's replacement for it.
     */
    boolean isInstance(Class<?> original, Object value) {
        ClassDesc type = ClassDesc.of(original.getName());
        return original.isInstance(value) || value != null && value.getClass().getClassLoader() == classes
                && value.getClass().getName().equals(names.kind(type).replacement)
                && usedTransports.contains(names.transportOf(type));
    }
}
