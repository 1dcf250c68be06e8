package io.rdmaraw.tools.dump;

import io.rdmaraw.ffi.NativeLibrary;
import io.rdmaraw.tools.command.ToolException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.List;

/** Compiles filters in the language of pcap-filter(7) to classic BPF, with libpcap. */
final class PcapFilter {
    /** The sonames of Debian and of other distributions. */
    private static final List<String> LIBRARIES = List.of("libpcap.so.0.8", "libpcap.so.1");
    private static final int LINKTYPE_ETHERNET = 1;
    private static final int NETMASK_UNKNOWN = -1;
    private static final int MAX_INSTRUCTIONS = 4096;
    /** {@code struct bpf_program}: the number of instructions, and the address of the first one. */
    private static final long PROGRAM_BYTES = 16;
    private static final long INSTRUCTION_BYTES = 8;
    private static final int MAX_ERROR_BYTES = 256;

    private final SymbolLookup library;

    private PcapFilter(SymbolLookup library) {
        this.library = library;
    }

    /**
     * Compiles a filter.
     *
     * @return one {@code struct bpf_insn} per element: code in bits 0 to 15, jt in bits 16 to 23, jf in bits 24 to 31,
     *         k in bits 32 to 63
     * @throws ToolException if libpcap is missing or rejects the filter
     */
    static long[] compile(String filter, int snapBytes) {
        return new PcapFilter(load()).program(filter, snapBytes);
    }

    private static SymbolLookup load() {
        String failure = "";
        for (String name : LIBRARIES) {
            try {
                return NativeLibrary.load(name);
            } catch (UnsatisfiedLinkError e) {
                failure += "; " + e.getMessage();
            }
        }
        throw new ToolException("a filter needs libpcap: sudo apt-get install -y libpcap0.8 (Fedora, RHEL: sudo dnf"
                + " install libpcap), or leave the filter out" + failure);
    }

    @SuppressWarnings("restricted")
    private MethodHandle function(String name, FunctionDescriptor type) {
        return Linker.nativeLinker().downcallHandle(library.findOrThrow(name), type);
    }

    private long[] program(String filter, int snapBytes) {
        MethodHandle openDead = function("pcap_open_dead",
                FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
        MethodHandle compile = function("pcap_compile", FunctionDescriptor.of(ValueLayout.JAVA_INT,
                ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.JAVA_INT,
                ValueLayout.JAVA_INT));
        MethodHandle error = function("pcap_geterr",
                FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.ADDRESS));
        MethodHandle free = function("pcap_freecode", FunctionDescriptor.ofVoid(ValueLayout.ADDRESS));
        MethodHandle close = function("pcap_close", FunctionDescriptor.ofVoid(ValueLayout.ADDRESS));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pcap = (MemorySegment) openDead.invokeExact(LINKTYPE_ETHERNET, snapBytes);
            MemorySegment program = arena.allocate(PROGRAM_BYTES, Long.BYTES);
            try {
                int result = (int) compile.invokeExact(pcap, program, arena.allocateFrom(filter), 1,
                        NETMASK_UNKNOWN);
                if (result != 0) {
                    throw new ToolException("filter '" + filter + "': "
                            + text((MemorySegment) error.invokeExact(pcap)) + "; see pcap-filter(7)");
                }
                long[] instructions = instructions(program, filter);
                free.invokeExact(program);
                return instructions;
            } finally {
                close.invokeExact(pcap);
            }
        } catch (ToolException e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("libpcap cannot be called", e);
        }
    }

    @SuppressWarnings("restricted")
    private static String text(MemorySegment address) {
        return address.reinterpret(MAX_ERROR_BYTES).getString(0);
    }

    @SuppressWarnings("restricted")
    private static long[] instructions(MemorySegment program, String filter) {
        int count = program.get(ValueLayout.JAVA_INT, 0);
        if (count < 1 || count > MAX_INSTRUCTIONS) {
            throw new ToolException("filter '" + filter + "' has " + count + " instructions of BPF; at most "
                    + MAX_INSTRUCTIONS + " are possible");
        }
        MemorySegment first = program.get(ValueLayout.ADDRESS, Long.BYTES).reinterpret(count * INSTRUCTION_BYTES);
        long[] instructions = new long[count];
        for (int i = 0; i < count; i++) {
            long at = i * INSTRUCTION_BYTES;
            instructions[i] = Short.toUnsignedLong(first.get(ValueLayout.JAVA_SHORT, at))
                    | Byte.toUnsignedLong(first.get(ValueLayout.JAVA_BYTE, at + 2)) << 16
                    | Byte.toUnsignedLong(first.get(ValueLayout.JAVA_BYTE, at + 3)) << 24
                    | (long) first.get(ValueLayout.JAVA_INT, at + 4) << 32;
        }
        return instructions;
    }
}
