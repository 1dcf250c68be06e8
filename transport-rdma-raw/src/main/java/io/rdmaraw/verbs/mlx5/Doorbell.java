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
 * Writes doorbells: records, which lie in memory, and registers of the device. Registers are mapped write-combining:
 * what was written to memory before must be visible to the device first, and the register's own write must leave the
 * processor's buffers at once.
 *
 * <p>On x86-64 a full fence of the JVM, which is a locked instruction, does both. On other processors the JVM has no
 * fence that orders writes for a device (on aarch64 it gives {@code dmb ish}, not {@code dsb st}, and a release orders
 * for the inner shareable domain alone), so there both are calls of C.
 */
final class Doorbell {
    /** {@code void softverbs_write_register(void *address, uint64_t value)}, with the barriers around the store. */
    private static final String REGISTER_FUNCTION = "softverbs_write_register";
    /** {@code void softverbs_write_record(void *address, uint32_t value)}, with the barrier before the store. */
    private static final String RECORD_FUNCTION = "softverbs_write_record";
    /** {@code void softverbs_write_request(void *register, const void *request, uint32_t bytes)}, barriers as well. */
    private static final String REQUEST_FUNCTION = "softverbs_write_request";
    private static final boolean IN_JAVA = Set.of("amd64", "x86_64").contains(System.getProperty("os.arch"))
            && !Boolean.getBoolean("io.rdmaraw.mlx5.doorbellInC");
    private static final MethodHandle WRITE_REGISTER = IN_JAVA ? null
            : NativeCall.hottestHandle(FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
    private static final MethodHandle WRITE_RECORD = IN_JAVA ? null
            : NativeCall.hottestHandle(FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT));
    private static final MethodHandle WRITE_REQUEST = IN_JAVA ? null
            : NativeCall.hottestHandle(FunctionDescriptor.ofVoid(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_INT));

    private Doorbell() {
    }

    /** Returns why doorbells cannot be written on this machine, or null. */
    static String unavailability() {
        return IN_JAVA ? null : Functions.FAILURE;
    }

    /**
     * Writes a record, big-endian, after all that was written and read before: what it tells the device of is there,
     * and what it gives back to the device has been read.
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

    /** Writes a 64-bit value in the machine's byte order to a register, after all that was written before. */
    static void write(long register, long value) {
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
     * Writes a whole request to a register (BlueFlame): the device need not read it from memory. As {@link #write},
     * which writes its first 64 bits alone.
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

    /** Looked up only where they are needed. */
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
