package io.rdmaraw.testsuite.net;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;

/** Moves the calling thread into a network namespace with setns(2), which affects a single thread. */
@SuppressWarnings("restricted")
public final class NamespaceThreads {
    private static final int O_RDONLY_CLOEXEC = 0x80000;
    private static final int CLONE_NEWNET = 0x40000000;
    private static final Linker LINKER = Linker.nativeLinker();
    private static final StructLayout CALL_STATE = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO =
            CALL_STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));
    // open is variadic in C. With two arguments, its calling convention on x86-64 and aarch64 is that of an ordinary
    // function.
    private static final MethodHandle OPEN = handle("open", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT));
    private static final MethodHandle SETNS = handle("setns", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
    private static final MethodHandle CLOSE = handle("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));

    private NamespaceThreads() {
    }

    private static MethodHandle handle(String function, FunctionDescriptor descriptor) {
        return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(function), descriptor,
                Linker.Option.captureCallState("errno"));
    }

    /**
     * Enters a namespace. There is no way back; the thread should end after its work.
     *
     * @param namespaceFile file of the namespace, such as /proc/PID/ns/net
     * @throws IllegalStateException if the kernel rejects the call, which requires CAP_SYS_ADMIN
     */
    public static void enter(String namespaceFile) {
        if (Thread.currentThread().isVirtual()) {
            throw new IllegalStateException("a virtual thread cannot live in a namespace: its carrier would");
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(CALL_STATE);
            int fd = (int) OPEN.invokeExact(state, arena.allocateFrom(namespaceFile), O_RDONLY_CLOEXEC);
            check(fd, "open " + namespaceFile, state);
            try {
                check((int) SETNS.invokeExact(state, fd, CLONE_NEWNET), "setns " + namespaceFile, state);
            } finally {
                int ignored = (int) CLOSE.invokeExact(state, fd);
            }
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private static void check(int result, String call, MemorySegment state) {
        if (result < 0) {
            throw new IllegalStateException(call + " failed with errno " + (int) ERRNO.get(state, 0L));
        }
    }
}
