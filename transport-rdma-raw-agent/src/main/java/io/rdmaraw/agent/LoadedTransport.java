package io.rdmaraw.agent;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.util.Collections;
import java.util.Map;
import java.util.Properties;
import java.util.WeakHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;

/** The transport for one copy of Netty in the process, or the reason why there is none. Any thread. */
final class LoadedTransport {
    private static final String CHANNEL_PACKAGE = "io.rdmaraw.channel.";

    /** Lives as long as the copy of Netty. */
    private static final ClassValue<Holder> OF_CHANNEL_TYPE = new ClassValue<>() {
        @Override
        protected Holder computeValue(Class<?> channelType) {
            return new Holder(channelType);
        }
    };

    /** One thread makes it while others wait. */
    private static final class Holder {
        private final Class<?> channelType;
        private LoadedTransport transport;

        Holder(Class<?> channelType) {
            this.channelType = channelType;
        }

        synchronized LoadedTransport get() {
            if (transport == null) {
                transport = load(Agent.instance(), channelType);
            }
            return transport;
        }
    }

    /** A device has one user: another copy of Netty would have a copy of the transport, which could not open it. */
    private static final AtomicBoolean USED = new AtomicBoolean();

    private final AgentOptions options;
    private final ClassLoader netty;
    private final ClassLoader classes;
    private final Object config;
    /** Which class of the program's a group stands for. */
    private final Map<Object, String> groups = Collections.synchronizedMap(new WeakHashMap<>());

    private LoadedTransport(AgentOptions options, ClassLoader netty, ClassLoader classes, Object config) {
        this.options = options;
        this.netty = netty;
        this.classes = classes;
        this.config = config;
    }

    /** Returns the transport for the Netty that a class uses; null if the program has to do without. */
    static LoadedTransport of(ClassLoader user, String nettyPackage) {
        Class<?> channelType;
        try {
            channelType = Class.forName(nettyPackage + ".channel.Channel", false, user);
        } catch (ClassNotFoundException e) {
            return null;
        }
        LoadedTransport transport = OF_CHANNEL_TYPE.get(channelType).get();
        return transport.config == null ? null : transport;
    }

    private static LoadedTransport load(Agent agent, Class<?> channelType) {
        ClassLoader netty = channelType.getClassLoader();
        String nettyPackage = channelType.getPackageName().substring(0,
                channelType.getPackageName().length() - ".channel".length());
        String version = version(netty);
        boolean isUser = false;
        try {
            requireVersion(netty, nettyPackage, version);
            ClassLoader classes = new TransportLoader(agent.jars().unpack(), netty, nettyPackage);
            isUser = USED.compareAndSet(false, true);
            if (!isUser) {
                throw new IOException("another copy of Netty in this process uses the device already, and " + version
                        + " of " + nettyPackage + " would want it too; the kernel carries that copy's channels");
            }
            LoadedTransport transport = new LoadedTransport(agent.options(), netty, classes,
                    config(agent.options(), classes));
            Throwable cause = (Throwable) transport.type("RdmaRaw").getMethod("unavailabilityCause",
                    transport.config.getClass()).invoke(null, transport.config);
            if (cause != null) {
                throw cause;
            }
            agent.report().on(version);
            return transport;
        } catch (Throwable e) {
            if (isUser) {
                USED.set(false);
            }
            Throwable cause = e instanceof InvocationTargetException ? e.getCause() : e;
            agent.report().off(cause instanceof LinkageError && !(cause instanceof UnsatisfiedLinkError)
                    ? version + " and the transport do not fit together: " + cause
                    : cause.getMessage() == null ? cause.toString() : cause.getMessage());
            return new LoadedTransport(agent.options(), netty, null, null);
        }
    }

    private static void requireVersion(ClassLoader netty, String nettyPackage, String version) throws IOException {
        try {
            Class.forName(nettyPackage + ".channel.IoHandlerFactory", false, netty);
            // Before 4.2.7 handles were not told that they were registered.
            Class.forName(nettyPackage + ".channel.IoHandle", false, netty).getMethod("registered");
        } catch (ReflectiveOperationException e) {
            throw new IOException(version + " is too old for the transport, which wants Netty 4.2.7 or newer", e);
        }
    }

    private static String version(ClassLoader netty) {
        try {
            // Each jar of Netty has such a file, of its own part.
            for (URL url : Collections.list(netty.getResources("META-INF/io.netty.versions.properties"))) {
                Properties versions = new Properties();
                try (InputStream in = url.openStream()) {
                    versions.load(in);
                }
                String version = versions.getProperty("netty-transport.version");
                if (version != null) {
                    return "Netty " + version;
                }
            }
        } catch (IOException e) {
            // A version that is not known is told as such.
        }
        return "Netty of an unknown version";
    }

    private static Object config(AgentOptions options, ClassLoader classes) throws ReflectiveOperationException {
        Class<?> configType = Class.forName(CHANNEL_PACKAGE + "RdmaRawIoHandlerConfig", true, classes);
        Class<?> nioChannels = Class.forName(CHANNEL_PACKAGE + "NioChannels", true, classes);
        Object builder = configType.getMethod("builder").invoke(null);
        Class<?> builderType = builder.getClass();
        builderType.getMethod("ipDevice", String.class).invoke(builder, options.device());
        builderType.getMethod("nioChannels", nioChannels).invoke(builder,
                nioChannels.getField("ALLOWED").get(null));
        builderType.getMethod("listensByDevice", Predicate.class).invoke(builder, options.listensByDevice());
        builderType.getMethod("connectsByDevice", Predicate.class).invoke(builder, options.connectsByDevice());
        return builderType.getMethod("build").invoke(builder);
    }

    private Class<?> type(String simpleName) throws ClassNotFoundException {
        return Class.forName(CHANNEL_PACKAGE + simpleName, true, classes);
    }

    /** Tells whether channels of a kind can be the device's at all. */
    private boolean isByDevice(NettyNames.Kind kind) {
        return switch (kind) {
            case SOCKET -> !options.connect().isEmpty();
            case SERVER -> !options.listen().isEmpty();
            case DATAGRAM -> options.udp();
            case GROUP -> true;
        };
    }

    /** Returns the class of channels that stands for others of its kind on the transport's loops. */
    Class<?> channelType(NettyNames.Kind kind, String nettyPackage) throws ClassNotFoundException {
        return isByDevice(kind) ? Class.forName(kind.replacement, true, classes)
                : Class.forName(nettyPackage + "." + kind.nio, false, netty);
    }

    /** Returns what makes channels of a kind, from an IP version or null. */
    MethodHandle newChannel(NettyNames.Kind kind, String nettyPackage) throws ReflectiveOperationException {
        Class<?> type = channelType(kind, nettyPackage);
        MethodHandles.Lookup lookup = MethodHandles.publicLookup();
        Class<?> family = Class.forName(nettyPackage + ".channel.socket.SocketProtocolFamily", false, netty);
        return kind == NettyNames.Kind.DATAGRAM
                ? lookup.findConstructor(type, MethodType.methodType(void.class, family))
                : MethodHandles.dropArguments(lookup.findConstructor(type, MethodType.methodType(void.class)), 0,
                        family);
    }

    /**
     * Has channels receive into buffers of Netty's default allocator, as Netty's own transports do.
     *
     * @param newChannel makes them
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

    /** Returns what makes factories of the transport's I/O handlers. */
    MethodHandle newFactory() throws ReflectiveOperationException {
        Class<?> handlerType = type("RdmaRawIoHandler");
        return MethodHandles.publicLookup().unreflect(handlerType.getMethod("newFactory", config.getClass()))
                .bindTo(config);
    }

    /** Tells whether a factory of I/O handlers is the transport's. */
    boolean isOwn(Object factory) {
        return factory != null && factory.getClass().getClassLoader() == classes;
    }

    /**
     * Makes a group of loops.
     *
     * @param original the class that it stands for
     * @param arguments those of the original's constructor
     */
    Object newGroup(String original, Object[] arguments) throws ReflectiveOperationException {
        int loops = 0;
        Executor executor = null;
        ThreadFactory threads = null;
        for (Object argument : arguments) {
            if (argument instanceof Integer number && argument == arguments[0]) {
                loops = number;
            } else if (argument instanceof Executor given) {
                executor = given;
            } else if (argument instanceof ThreadFactory given) {
                threads = given;
            }
        }
        Class<?> groupType = type("RdmaRawEventLoopGroup");
        Object group = threads != null
                ? groupType.getConstructor(int.class, ThreadFactory.class, config.getClass())
                        .newInstance(loops, threads, config)
                : groupType.getMethod("onExecutor", int.class, Executor.class, config.getClass())
                        .invoke(null, loops, executor, config);
        groups.put(group, original);
        return group;
    }

    /** Tells whether a value is a group that stands for a class. */
    boolean standsFor(Object value, String original) {
        return value != null && original.equals(groups.get(value));
    }
}
