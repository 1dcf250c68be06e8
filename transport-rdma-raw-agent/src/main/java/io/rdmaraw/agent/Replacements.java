package io.rdmaraw.agent;

import java.lang.constant.ClassDesc;
import java.lang.invoke.CallSite;
import java.lang.invoke.ConstantCallSite;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import java.util.List;

/**
 * What the dynamic calls of rewritten classes are linked to, each when it is first reached: the transport's classes, or
 * the originals where the transport does not work. On the bootstrap class path, so that every class finds it.
 */
public final class Replacements {
    private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();
    /** It releases datagrams only if they are of an allocator of Netty's own; for TCP it sets one itself. */
    private static final String VERTX = "io.vertx.";

    private Replacements() {
    }

    /**
     * Links a constant of a class of channels.
     *
     * @param original the class that the program names
     * @param nettyPackage the package that Netty is in
     */
    public static CallSite type(MethodHandles.Lookup caller, String name, MethodType type, String original,
            String nettyPackage) throws ReflectiveOperationException {
        LoadedTransport transport = transport(caller, nettyPackage);
        Class<?> value = transport == null ? caller.findClass(original)
                : transport.channelType(kind(original, nettyPackage), nettyPackage);
        return new ConstantCallSite(MethodHandles.constant(Class.class, value));
    }

    /**
     * Links a call of a constructor.
     *
     * @param original the class that the program names
     * @param descriptor the constructor's
     */
    public static CallSite construct(MethodHandles.Lookup caller, String name, MethodType type, String original,
            String descriptor, String nettyPackage) throws ReflectiveOperationException {
        LoadedTransport transport = transport(caller, nettyPackage);
        if (transport == null) {
            return new ConstantCallSite(original(caller, original, descriptor).asType(type));
        }
        NettyNames.Kind kind = kind(original, nettyPackage);
        if (kind == NettyNames.Kind.GROUP) {
            // Two ways out of one call, as the arguments tell: reflection, for groups are made rarely.
            MethodHandle made = MethodHandles.insertArguments(LOOKUP.findStatic(Replacements.class, "newGroup",
                    MethodType.methodType(Object.class, LoadedTransport.class, MethodHandle.class, String.class,
                            Object[].class)), 0, transport, original(caller, original, descriptor), original);
            return new ConstantCallSite(made.asCollector(Object[].class, type.parameterCount()).asType(type));
        }
        return new ConstantCallSite(channel(caller, transport, kind, original, descriptor, nettyPackage, type));
    }

    /** A channel that is made of a socket that is there already keeps it: the kernel carries it. */
    private static MethodHandle channel(MethodHandles.Lookup caller, LoadedTransport transport, NettyNames.Kind kind,
            String original, String descriptor, String nettyPackage, MethodType type)
            throws ReflectiveOperationException {
        MethodHandle made = transport.newChannel(kind, nettyPackage);
        if (kind == NettyNames.Kind.DATAGRAM && caller.lookupClass().getName().startsWith(VERTX)) {
            made = transport.withDefaultAllocator(made, nettyPackage);
        }
        Class<?> family = made.type().parameterType(0);
        MethodHandle found = null;
        for (Class<?> parameter : type.parameterList()) {
            if (parameter == family) {
                found = MethodHandles.identity(family);
            } else if (parameter.getName().equals(nettyPackage + ".channel.socket.InternetProtocolFamily")) {
                found = MethodHandles.publicLookup().findVirtual(parameter, "toSocketProtocolFamily",
                        MethodType.methodType(family));
            } else if (parameter != java.nio.channels.spi.SelectorProvider.class) {
                return original(caller, original, descriptor).asType(type);
            }
        }
        // The IP version comes last wherever a constructor has it.
        MethodHandle whole = found == null ? MethodHandles.insertArguments(made, 0, new Object[] {null})
                : MethodHandles.filterArguments(made, 0, found);
        List<Class<?>> before = type.parameterList().subList(0, type.parameterCount() - (found == null ? 0 : 1));
        return MethodHandles.dropArguments(whole, 0, before).asType(type);
    }

    /** Makes a group in place of another; called by rewritten classes. */
    private static Object newGroup(LoadedTransport transport, MethodHandle original, String name, Object[] arguments)
            throws Throwable {
        boolean namesFactory = name.endsWith(".channel.MultiThreadIoEventLoopGroup");
        if (namesFactory && Arrays.stream(arguments).noneMatch(transport::isOwn)) {
            return original.invokeWithArguments(arguments);
        }
        try {
            return transport.newGroup(name, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    /**
     * Links a call of {@code newFactory} of a class of I/O handlers.
     *
     * @param original the class that the program names
     */
    public static CallSite newFactory(MethodHandles.Lookup caller, String name, MethodType type, String original,
            String nettyPackage) throws ReflectiveOperationException {
        LoadedTransport transport = transport(caller, nettyPackage);
        MethodHandle made = transport == null ? caller.findStatic(caller.findClass(original), name, type)
                : MethodHandles.dropArguments(transport.newFactory(), 0, type.parameterList());
        return new ConstantCallSite(made.asType(type));
    }

    /** Links a call that asks for the transport's factory of I/O handlers; null where there is none. */
    public static CallSite ownFactory(MethodHandles.Lookup caller, String name, MethodType type, String nettyPackage)
            throws ReflectiveOperationException {
        LoadedTransport transport = transport(caller, nettyPackage);
        return new ConstantCallSite(transport == null ? MethodHandles.zero(type.returnType())
                : transport.newFactory().asType(type));
    }

    /** Links a call of {@link Class#forName}, by which a program may look for a class of channels. */
    public static CallSite forName(MethodHandles.Lookup caller, String name, MethodType type, String nettyPackage)
            throws ReflectiveOperationException {
        MethodHandle found = MethodHandles.insertArguments(LOOKUP.findStatic(Replacements.class, "find",
                MethodType.methodType(Class.class, MethodHandles.Lookup.class, String.class, String.class,
                        boolean.class, ClassLoader.class)), 0, caller, nettyPackage);
        return new ConstantCallSite(type.parameterCount() == 1
                ? MethodHandles.insertArguments(found, 1, true, caller.lookupClass().getClassLoader()).asType(type)
                : found.asType(type));
    }

    private static Class<?> find(MethodHandles.Lookup caller, String nettyPackage, String name, boolean initialize,
            ClassLoader loader) throws ClassNotFoundException {
        if (name.startsWith(nettyPackage + ".channel.")) {
            NettyNames.Kind kind = new NettyNames(nettyPackage).kind(ClassDesc.of(name));
            LoadedTransport transport = kind == null || kind == NettyNames.Kind.GROUP ? null
                    : transport(caller, nettyPackage);
            if (transport != null) {
                return transport.channelType(kind, nettyPackage);
            }
        }
        return Class.forName(name, initialize, loader);
    }

    /**
     * Links a question whether a value is of a class of groups.
     *
     * @param original the class that the program names
     */
    public static CallSite isInstance(MethodHandles.Lookup caller, String name, MethodType type, String original,
            String nettyPackage) throws ReflectiveOperationException {
        LoadedTransport transport = transport(caller, nettyPackage);
        Class<?> group = caller.findClass(original);
        MethodHandle asked = transport == null
                ? LOOKUP.findVirtual(Class.class, name, MethodType.methodType(boolean.class, Object.class))
                        .bindTo(group)
                : MethodHandles.insertArguments(LOOKUP.findStatic(Replacements.class, "isGroup",
                        MethodType.methodType(boolean.class, LoadedTransport.class, Class.class, Object.class)), 0,
                        transport, group);
        return new ConstantCallSite(asked.asType(type));
    }

    private static boolean isGroup(LoadedTransport transport, Class<?> original, Object value) {
        return original.isInstance(value) || transport.standsFor(value, original.getName());
    }

    /**
     * Links a call of a method that only NIO's or epoll's groups have, such as {@code setIoRatio}: on others it has no
     * effect.
     *
     * @param original the class that the program names
     * @param method its method, which returns nothing
     */
    public static CallSite ofGroup(MethodHandles.Lookup caller, String name, MethodType type, String original,
            String method, String nettyPackage) throws ReflectiveOperationException {
        Class<?> group = caller.findClass(original);
        MethodHandle called = caller.findVirtual(group, method, type.dropParameterTypes(0, 1)).asType(type);
        MethodHandle nothing = MethodHandles.empty(type);
        MethodHandle test = LOOKUP.findVirtual(Class.class, "isInstance",
                MethodType.methodType(boolean.class, Object.class)).bindTo(group)
                .asType(MethodType.methodType(boolean.class, type.parameterType(0)));
        return new ConstantCallSite(MethodHandles.guardWithTest(test, called, nothing));
    }

    private static LoadedTransport transport(MethodHandles.Lookup caller, String nettyPackage) {
        return LoadedTransport.of(caller.lookupClass().getClassLoader(), nettyPackage);
    }

    private static NettyNames.Kind kind(String original, String nettyPackage) {
        NettyNames.Kind kind = new NettyNames(nettyPackage).kind(ClassDesc.of(original));
        return kind == null ? NettyNames.Kind.GROUP : kind;
    }

    private static MethodHandle original(MethodHandles.Lookup caller, String original, String descriptor)
            throws ReflectiveOperationException {
        return caller.findConstructor(caller.findClass(original),
                MethodType.fromMethodDescriptorString(descriptor, caller.lookupClass().getClassLoader()));
    }
}
