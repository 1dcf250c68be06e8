package io.rdmaraw.capture;

import io.rdmaraw.ffi.NativeLibrary;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/** Compiles filters and runs programs with libpcap. */
@SuppressWarnings("restricted")
final class Libpcap {
    private static final int LINKTYPE_ETHERNET = 1;
    private static final int SNAP_BYTES = 262_144;

    private final SymbolLookup library;
    private final Arena arena = Arena.ofAuto();
    private final MethodHandle filter;

    private Libpcap(SymbolLookup library) {
        this.library = library;
        filter = function("bpf_filter", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS,
                ValueLayout.ADDRESS, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
    }

    /** Returns libpcap, or null if this host has none. */
    static Libpcap loadOrNull() {
        for (String name : new String[] {"libpcap.so.0.8", "libpcap.so.1"}) {
            try {
                return new Libpcap(NativeLibrary.load(name));
            } catch (UnsatisfiedLinkError e) {
                // The other name may exist.
            }
        }
        return null;
    }

    private MethodHandle function(String name, FunctionDescriptor type) {
        return Linker.nativeLinker().downcallHandle(library.findOrThrow(name), type);
    }

    /** Returns the instructions of a filter; see {@link BpfProgram}. */
    long[] compile(String text) throws Throwable {
        MemorySegment pcap = (MemorySegment) function("pcap_open_dead", FunctionDescriptor.of(ValueLayout.ADDRESS,
                ValueLayout.JAVA_INT, ValueLayout.JAVA_INT)).invokeExact(LINKTYPE_ETHERNET, SNAP_BYTES);
        MemorySegment program = arena.allocate(16, 8);
        int result = (int) function("pcap_compile", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS,
                ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT))
                .invokeExact(pcap, program, arena.allocateFrom(text), 1, -1);
        if (result != 0) {
            throw new AssertionError(text);
        }
        int count = program.get(ValueLayout.JAVA_INT, 0);
        MemorySegment first = program.get(ValueLayout.ADDRESS, 8).reinterpret(8L * count);
        long[] instructions = new long[count];
        for (int i = 0; i < count; i++) {
            // A little-endian host reads a structure as one number.
            instructions[i] = first.get(ValueLayout.JAVA_LONG_UNALIGNED, 8L * i);
        }
        return instructions;
    }

    /** Returns native memory with instructions for {@link #matches}. */
    MemorySegment program(long[] instructions) {
        return arena.allocateFrom(ValueLayout.JAVA_LONG, instructions);
    }

    boolean matches(MemorySegment program, MemorySegment frame, int frameBytes) throws Throwable {
        return (int) filter.invokeExact(program, frame, frameBytes, (int) frame.byteSize()) != 0;
    }
}
