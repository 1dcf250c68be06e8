package io.rdmaraw.verbs.mlx5;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeLibrary;
import io.rdmaraw.ffi.NativeMemory;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.util.Set;

/**
 * Writes a device register. Registers are mapped write-combining: what was written to memory before must be visible to
 * the device first, and the register's own write must leave the processor's buffers at once.
 *
 * <p>On x86-64 a full fence of the JVM, which is a locked instruction, does both. On other processors the JVM has no
 * fence that orders writes for a device (on aarch64 it gives {@code dmb ish}, not {@code dsb st}), so there the write
 * is a call of C.
 */
final class Doorbell {
    /** {@code void softverbs_write_register(void *address, uint64_t value)}, with the barriers around the store. */
    private static final String FUNCTION = "softverbs_write_register";
    private static final boolean IN_JAVA = Set.of("amd64", "x86_64").contains(System.getProperty("os.arch"))
            && !Boolean.getBoolean("io.rdmaraw.mlx5.doorbellInC");
    private static final MethodHandle WRITE = IN_JAVA ? null
            : NativeCall.hottestHandle(FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));

    private Doorbell() {
    }

    /** Returns why registers cannot be written on this machine, or null. */
    static String unavailability() {
        return IN_JAVA ? null : Function.FAILURE;
    }

    /** Writes a 64-bit value in the machine's byte order, after all that was written before. */
    static void write(long register, long value) {
        if (IN_JAVA) {
            VarHandle.fullFence();
            NativeMemory.putLongRelease(register, value);
            VarHandle.fullFence();
            return;
        }
        try {
            WRITE.invokeExact(Function.ADDRESS, register, value);
        } catch (Throwable e) {
            throw NativeCall.unexpected(e);
        }
    }

    /** Looked up only where it is needed. */
    private static final class Function {
        static final MemorySegment ADDRESS;
        static final String FAILURE;

        static {
            MemorySegment address = MemorySegment.NULL;
            String failure = null;
            try {
                address = NativeLibrary.loadBundled("softverbs").findOrThrow(FUNCTION);
            } catch (UnsatisfiedLinkError | RuntimeException e) {
                failure = "on this processor registers are written by a function of the native library: "
                        + e.getMessage();
            }
            ADDRESS = address;
            FAILURE = failure;
        }
    }
}
