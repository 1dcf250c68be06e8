package io.rdmaraw.ffi;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Creates all method handles for C functions and records them, because a native image contains code only for
 * the handles in its metadata. Handles are unbound: the address of the function is the first argument. There
 * are no upcalls.
 */
final class Downcalls {
    private static final Set<HandleKey> CREATED = ConcurrentHashMap.newKeySet();

    /** The arguments of a call of {@link Linker}. */
    record HandleKey(FunctionDescriptor descriptor, List<Linker.Option> options) {
    }

    private Downcalls() {
    }

    static MethodHandle plain(FunctionDescriptor descriptor) {
        return make(descriptor);
    }

    static MethodHandle capturingErrno(FunctionDescriptor descriptor) {
        return make(descriptor, Linker.Option.captureCallState("errno"));
    }

    /** Creates a handle for a function that returns at once and accesses no heap memory. */
    static MethodHandle critical(FunctionDescriptor descriptor) {
        return make(descriptor, Linker.Option.critical(false));
    }

    static Set<HandleKey> created() {
        return Set.copyOf(CREATED);
    }

    @SuppressWarnings("restricted")
    private static MethodHandle make(FunctionDescriptor descriptor, Linker.Option... options) {
        CREATED.add(new HandleKey(descriptor, List.of(options)));
        return Linker.nativeLinker().downcallHandle(descriptor, options);
    }
}
