package io.rdmaraw.agent;

import java.lang.constant.ClassDesc;
import java.lang.invoke.CallSite;
import java.lang.invoke.ConstantCallSite;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.channels.spi.SelectorProvider;
import java.util.List;
import java.util.concurrent.Executor;

/**
 * Links the dynamic calls of rewritten classes to the transport's classes, or to the original ones if the transport is
 * unavailable. Loaded from the bootstrap class path, so that every class finds it.
 */
public final class Replacements {
    private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();
    private static final StackWalker CALLERS = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
    /**
     * Vert.x releases received datagrams only if they come from one of Netty's own allocators. For TCP it sets such an
     * allocator itself.
     */
    private static final String VERTX = "io.vertx.";

    private Replacements() {
    }

    /**
     * Links a class constant of a channel class.
     *
     * @param original the class that the program refers to
     */
    public static CallSite type(MethodHandles.Lookup caller, String name, MethodType type, String original,
            String nettyPackage) throws ReflectiveOperationException {
        return new ConstantCallSite(MethodHandles.constant(Class.class, caller.findClass(original)));
    }

    /**
     * Links a constructor call of a channel class.
     *
     * @param original   the class that the program refers to
     * @param descriptor descriptor of the constructor
     */
    public static CallSite construct(MethodHandles.Lookup caller, String name, MethodType type, String original,
            String descriptor, String nettyPackage) throws ReflectiveOperationException {
        MethodHandle made = caller.findConstructor(caller.findClass(original),
                MethodType.fromMethodDescriptorString(descriptor, caller.lookupClass().getClassLoader())).asType(type);
        LoadedTransport transport = LoadedTransport.of(caller.lookupClass().getClassLoader(), nettyPackage);
        if (transport == null) {
            return new ConstantCallSite(made);
        }
        MethodHandle replacement = channel(caller, transport, original, nettyPackage, type);
        MethodHandle isReplaced = LOOKUP.findVirtual(LoadedTransport.class, "replaces",
                MethodType.methodType(boolean.class, String.class)).bindTo(transport).bindTo(original);
        return new ConstantCallSite(replacement == null ? made : MethodHandles.guardWithTest(
                MethodHandles.dropArguments(isReplaced, 0, type.parameterList()), replacement, made));
    }

    /**
     * Returns a handle that creates the transport's channel. Returns null if the channel is to wrap an existing socket,
     * which the kernel serves.
     */
    private static MethodHandle channel(MethodHandles.Lookup caller, LoadedTransport transport, String original,
            String nettyPackage, MethodType type) throws ReflectiveOperationException {
        NettyNames.Kind kind = new NettyNames(nettyPackage).kind(ClassDesc.of(original));
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
            } else if (parameter != SelectorProvider.class) {
                return null;
            }
        }
        // A constructor that has an IP version has it as the last parameter.
        MethodHandle whole = found == null ? MethodHandles.insertArguments(made, 0, new Object[] {null})
                : MethodHandles.filterArguments(made, 0, found);
        List<Class<?>> before = type.parameterList().subList(0, type.parameterCount() - (found == null ? 0 : 1));
        return MethodHandles.dropArguments(whole, 0, before).asType(type);
    }

    /**
     * Links an {@code instanceof} check for a channel class.
     *
     * @param original the class that the program refers to
     */
    public static CallSite isInstance(MethodHandles.Lookup caller, String name, MethodType type, String original,
            String nettyPackage) throws ReflectiveOperationException {
        LoadedTransport transport = LoadedTransport.of(caller.lookupClass().getClassLoader(), nettyPackage);
        Class<?> channel = caller.findClass(original);
        MethodHandle check = transport == null
                ? LOOKUP.findVirtual(Class.class, name, MethodType.methodType(boolean.class, Object.class))
                        .bindTo(channel)
                : MethodHandles.insertArguments(LOOKUP.findVirtual(LoadedTransport.class, "isInstance",
                        MethodType.methodType(boolean.class, Class.class, Object.class)), 0, transport, channel);
        return new ConstantCallSite(check.asType(type));
    }

    /**
     * Links a call from the prologue of a rewritten class of Netty.
     *
     * @param methodName name of a private method of this class, which receives the calling class as the first argument
     */
    public static CallSite link(MethodHandles.Lookup caller, String methodName, MethodType type, String nettyPackage)
            throws ReflectiveOperationException {
        for (Method method : Replacements.class.getDeclaredMethods()) {
            if (method.getName().equals(methodName) && Modifier.isPrivate(method.getModifiers())) {
                return new ConstantCallSite(MethodHandles.insertArguments(LOOKUP.unreflect(method), 0,
                        caller.lookupClass(), new NettyNames(nettyPackage)).asType(type));
            }
        }
        throw new NoSuchMethodException(methodName);
    }

    /** Returns the transport's factory of I/O handlers, or null to use Netty's. */
    private static Object ownFactory(Class<?> callerClass, NettyNames names, SelectorProvider provider)
            throws Throwable {
        if (provider != null && provider != SelectorProvider.provider() || isCalledByTransport(callerClass)) {
            return null;
        }
        LoadedTransport transport = LoadedTransport.of(callerClass.getClassLoader(), names.nettyPackage());
        return transport == null || !transport.replaces(callerClass.getName()) ? null : transport.newFactory().invoke();
    }

    /** Returns whether the transport made the call. Its loops drive NIO channels with Netty's own handler. */
    private static boolean isCalledByTransport(Class<?> callerClass) {
        return CALLERS.walk(frames -> frames.map(StackWalker.StackFrame::getDeclaringClass)
                .filter(type -> type != Replacements.class && type != callerClass).findFirst())
                .map(type -> type.getClassLoader() instanceof TransportLoader).orElse(false);
    }

    /** Returns a loop of the transport for one of Netty's groups; null if the factory is not the transport's. */
    private static Object ownLoop(Class<?> callerClass, NettyNames names, Object group, Executor executor,
            Object factory, Object[] arguments) throws ReflectiveOperationException {
        LoadedTransport transport = LoadedTransport.ofObject(factory);
        return transport == null ? null : transport.newLoop(group, executor, factory, arguments);
    }

    /** Returns whether the loops of one of Netty's groups belong to the transport. */
    private static boolean isOwnGroup(Class<?> callerClass, NettyNames names, Object group) {
        return ((Iterable<?>) group).iterator().next().getClass().getClassLoader() instanceof TransportLoader;
    }

    /**
     * Returns the loop of a group with which a channel must be registered, or null for any loop. For an accepted
     * channel of the transport, this is the loop that receives its segments. For a channel of epoll or io_uring that
     * was not replaced, it is one of Netty's own loops.
     */
    private static Object receivingLoop(Class<?> callerClass, NettyNames names, Object group, Object channel)
            throws ReflectiveOperationException {
        LoadedTransport transport = LoadedTransport.ofObject(channel);
        if (transport != null) {
            return transport.receivingLoop(group, channel);
        }
        String handler = channel == null ? null : names.foreignHandler(channel.getClass().getName());
        transport = handler == null ? null : LoadedTransport.ofObject(((Iterable<?>) group).iterator().next());
        if (transport == null) {
            return null;
        }
        Object companion = transport.companion(group,
                Class.forName(handler, false, channel.getClass().getClassLoader()));
        return callerClass.getMethod("next").invoke(companion);
    }

    /** Returns a channel of the transport as a replacement for one of Netty's channel classes, or null. */
    private static Object ownChannel(Class<?> callerClass, NettyNames names, Constructor<?> constructor)
            throws Throwable {
        Class<?> original = constructor.getDeclaringClass();
        NettyNames.Kind kind = original.getName().startsWith(names.nettyPackage() + ".channel.")
                ? names.kind(ClassDesc.of(original.getName())) : null;
        LoadedTransport transport = kind == null ? null
                : LoadedTransport.of(callerClass.getClassLoader(), names.nettyPackage());
        if (transport == null || !transport.replaces(original.getName())) {
            return null;
        }
        return transport.newChannel(kind, names.nettyPackage()).invokeWithArguments(new Object[] {null});
    }
}
