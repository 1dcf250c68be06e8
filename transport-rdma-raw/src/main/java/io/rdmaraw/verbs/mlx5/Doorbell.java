package io.rdmaraw.verbs.mlx5;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeLibrary;
import io.rdmaraw.ffi.NativeMemory;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Set;

/**
 * Writes doorbells: records in memory, and registers of the device. Registers are mapped write-combining.
 * Earlier writes to memory must be visible to the device first, and the write to the register must leave the
 * CPU's buffers at once.
 *
 * <p>On x86-64 the JVM's full fence, a locked instruction, ensures both. On other CPUs the JVM has no fence for
 * device memory. On aarch64, for example, its fences order only the inner shareable domain ({@code dmb ish},
 * not {@code dsb st}). Doorbells are therefore written by C functions there.
 */
final class Doorbell {
    /** {@code void softverbs_write_register(void *address, uint64_t value)}, including the barriers. */
    private static final String REGISTER_FUNCTION = "softverbs_write_register";
    /**
     * {@code void softverbs_write_doorbell_record(void *address, uint32_t value)}, including the barrier before the
     * store.
     */
    private static final String RECORD_FUNCTION = "softverbs_write_doorbell_record";
    /**
     * {@code void softverbs_write_blueflame(void *register, const void *request, uint32_t bytes)}, including the
     * barriers.
     */
    private static final String REQUEST_FUNCTION = "softverbs_write_blueflame";
    private static final boolean IN_JAVA = Set.of("amd64", "x86_64").contains(System.getProperty("os.arch"))
            && !Boolean.getBoolean("io.rdmaraw.mlx5.doorbellInC");
    private static final MethodHandle WRITE_REGISTER = IN_JAVA ? null
            : NativeCall.criticalHandle(FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
    private static final MethodHandle WRITE_RECORD = IN_JAVA ? null
            : NativeCall.criticalHandle(FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT));
    private static final MethodHandle WRITE_REQUEST = IN_JAVA ? null
            : NativeCall.criticalHandle(FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_INT));

    private Doorbell() {
    }

    /** Returns why doorbells cannot be written on this machine, or null if they can. */
    static String unavailability() {
        return IN_JAVA ? null : Functions.FAILURE;
    }

    /**
     * Writes a record in big-endian order after all earlier reads and writes. Thus requests are complete before
     * the device learns of them, and completions have been read before the device may overwrite them.
     */
    static void writeRecord(long record, int value) {
        if (IN_JAVA) {
            NativeMemory.putIntBigEndianRelease(record, value);
            return;
        }
        try {
            WRITE_RECORD.invokeExact(Functions.WRITE_RECORD, record, value);
        } catch (Throwable e) {
            throw NativeCall.unexpected(e);
        }
    }

    /** Writes a 64-bit value in host byte order to a register after all earlier writes. */
    static void writeRegister(long register, long value) {
        if (IN_JAVA) {
            NativeMemory.fullFence();
            NativeMemory.putLongRelease(register, value);
            NativeMemory.fullFence();
            return;
        }
        try {
            WRITE_REGISTER.invokeExact(Functions.WRITE_REGISTER, register, value);
        } catch (Throwable e) {
            throw NativeCall.unexpected(e);
        }
    }

    /**
     * Writes a whole request to a register (BlueFlame), so that the device need not read it from memory.
     * Otherwise like {@link #writeRegister}, which writes only the first 64 bits.
     *
     * @param lengthBytes a multiple of {@value Wqe#BLOCK_BYTES}
     */
    static void writeRequest(long register, long request, int lengthBytes) {
        if (IN_JAVA) {
            NativeMemory.fullFence();
            for (int i = 0; i < lengthBytes; i += Long.BYTES) {
                NativeMemory.putLong(register + i, NativeMemory.getLong(request + i));
            }
            NativeMemory.fullFence();
            return;
        }
        try {
            WRITE_REQUEST.invokeExact(Functions.WRITE_REQUEST, register, request, lengthBytes);
        } catch (Throwable e) {
            throw NativeCall.unexpected(e);
        }
    }

    /** The C functions, looked up only on CPUs that need them. */
    private static final class Functions {
        static final MemorySegment WRITE_REGISTER;
        static final MemorySegment WRITE_RECORD;
        static final MemorySegment WRITE_REQUEST;
        static final String FAILURE;

        static {
            MemorySegment writeRegister = MemorySegment.NULL;
            MemorySegment writeRecord = MemorySegment.NULL;
            MemorySegment writeRequest = MemorySegment.NULL;
            String failure = null;
            try {
                SymbolLookup library = NativeLibrary.loadBundled("softverbs");
                writeRegister = library.findOrThrow(REGISTER_FUNCTION);
                writeRecord = library.findOrThrow(RECORD_FUNCTION);
                writeRequest = library.findOrThrow(REQUEST_FUNCTION);
            } catch (UnsatisfiedLinkError | RuntimeException e) {
                failure = "on this processor doorbells are written by functions of the native library: "
                        + e.getMessage();
            }
            WRITE_REGISTER = writeRegister;
            WRITE_RECORD = writeRecord;
            WRITE_REQUEST = writeRequest;
            FAILURE = failure;
        }
    }
}
