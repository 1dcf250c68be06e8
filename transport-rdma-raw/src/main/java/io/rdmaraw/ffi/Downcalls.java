package io.rdmaraw.ffi;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Makes all handles of C functions, unbound, with the function's address as first argument, and knows which it has
 * made: a native image has code only for those that its metadata lists. There are no upcalls.
 */
final class Downcalls {
    private static final Set<Made> MADE = ConcurrentHashMap.newKeySet();

    /** What {@link Linker} was asked for. */
    record Made(FunctionDescriptor descriptor, List<Linker.Option> options) {
    }

    private Downcalls() {
    }

    static MethodHandle plain(FunctionDescriptor descriptor) {
        return make(descriptor);
    }

    static MethodHandle capturingErrno(FunctionDescriptor descriptor) {
        return make(descriptor, Linker.Option.captureCallState("errno"));
    }

    /** Of functions that return at once; they see no heap memory. */
    static MethodHandle critical(FunctionDescriptor descriptor) {
        return make(descriptor, Linker.Option.critical(false));
    }

    static Set<Made> made() {
        return Set.copyOf(MADE);
    }

    @SuppressWarnings("restricted")
    private static MethodHandle make(FunctionDescriptor descriptor, Linker.Option... options) {
        MADE.add(new Made(descriptor, List.of(options)));
        return Linker.nativeLinker().downcallHandle(descriptor, options);
    }
}
