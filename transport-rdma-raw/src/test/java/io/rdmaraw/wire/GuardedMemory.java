package io.rdmaraw.wire;

import io.rdmaraw.ffi.NativeMemory;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * Memory between two inaccessible pages. With a frame at its end (or at its start), every read outside the frame
 * crashes the test process, so no such read goes unnoticed.
 */
@SuppressWarnings("restricted")
final class GuardedMemory {
    private static final int PAGE_BYTES = 4096;
    private static final int USABLE_PAGES = 17;
    private static final int PROT_NONE = 0;
    private static final int PROT_READ_WRITE = 3;
    private static final int MAP_PRIVATE_ANONYMOUS = 0x22;
    private static final Linker LINKER = Linker.nativeLinker();

    private final long first;
    private final long end;

    GuardedMemory() {
        long usable = (long) USABLE_PAGES * PAGE_BYTES;
        long base = map(usable + 2 * PAGE_BYTES);
        first = base + PAGE_BYTES;
        end = first + usable;
        protect(first, usable);
    }

    /** Copies the bytes so that the last one is the last accessible byte. Returns the address of the first one. */
    long putAtEnd(byte[] bytes) {
        return put(end - bytes.length, bytes);
    }

    /** Copies the bytes so that the first one is the first accessible byte. Returns its address. */
    long putAtStart(byte[] bytes) {
        return put(first, bytes);
    }

    /** Returns the address of the last {@code lengthBytes} bytes. */
    long atEnd(int lengthBytes) {
        return end - lengthBytes;
    }

    private static long put(long address, byte[] bytes) {
        MemorySegment.copy(bytes, 0, NativeMemory.segment(address, bytes.length), ValueLayout.JAVA_BYTE, 0,
                bytes.length);
        return address;
    }

    static byte[] bytes(long address, int lengthBytes) {
        return NativeMemory.segment(address, lengthBytes).toArray(ValueLayout.JAVA_BYTE);
    }

    private static long map(long lengthBytes) {
        MethodHandle mmap = handle("mmap", FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT,
                ValueLayout.JAVA_LONG));
        try {
            long address = (long) mmap.invokeExact(0L, lengthBytes, PROT_NONE, MAP_PRIVATE_ANONYMOUS, -1, 0L);
            if (address == -1) {
                throw new IllegalStateException("mmap of " + lengthBytes + " bytes failed");
            }
            return address;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    private static void protect(long address, long lengthBytes) {
        MethodHandle mprotect = handle("mprotect", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG,
                ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT));
        try {
            int result = (int) mprotect.invokeExact(address, lengthBytes, PROT_READ_WRITE);
            if (result != 0) {
                throw new IllegalStateException("mprotect failed");
            }
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    private static MethodHandle handle(String name, FunctionDescriptor descriptor) {
        return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(name), descriptor);
    }
}
