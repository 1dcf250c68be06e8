package io.rdmaraw.ffi;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Explains why the dynamic linker rejects a library, and suggests remedies. */
final class LibraryFailure {
    private static final int RTLD_LAZY = 1;
    private static final long MAX_REASON_BYTES = 4096;
    private static final long DLOPEN = Libc.address("dlopen");
    private static final long DLCLOSE = Libc.address("dlclose");
    private static final long DLERROR = Libc.address("dlerror");
    /** ELF: the magic number, and the position of the machine in the header (elf.h). */
    private static final int ELF_MAGIC = 0x7f454c46;
    private static final int ELF_DATA_OFFSET = 5;
    private static final int ELF_LITTLE_ENDIAN = 1;
    private static final int ELF_MACHINE_OFFSET = 18;
    private static final int ELF_HEADER_BYTES = 20;
    private static final int NO_ELF = -1;
    /** C libraries in /proc/self/maps of Alpine Linux and of Debian. */
    private static final Pattern MUSL = Pattern.compile("/ld-musl-[^/]*\\.so|-linux-musl/libc\\.so");
    private static final Pattern GLIBC = Pattern.compile("GLIBC_[0-9.]+");

    private LibraryFailure() {
    }

    /** Returns the dynamic linker's reason for rejecting a library, which the JDK does not report. */
    static String dlopenError(String sonameOrPath) {
        try (Arena arena = Arena.ofConfined()) {
            long library = NativeCall.pointer(DLOPEN, arena.allocateFrom(sonameOrPath).address(), RTLD_LAZY);
            if (!NativeCall.isError(library)) {
                NativeCall.status(DLCLOSE, library);
                return "it was loaded when tried again";
            }
            // dlerror has no parameters and ignores the argument.
            long reason = NativeCall.pointer(DLERROR, 0);
            return NativeCall.isError(reason) ? "dlopen gives no reason"
                    : NativeMemory.segment(reason, MAX_REASON_BYTES).getString(0);
        }
    }

    /**
     * Returns why a library cannot work in this JVM and a remedy, or null if no reason is found. Call it before
     * loading: for a file that is not a library, the JVM would warn about executable stacks.
     *
     * @param property the system property that names another file
     * @param start    the first bytes of the library
     */
    static String incompatibility(String property, byte[] start) {
        int machine = machine(start);
        if (machine == NO_ELF) {
            return "it is no shared library of Linux: take the jar as it was published, or name another file by -D"
                    + property;
        }
        int own = ownMachine();
        if (own != NO_ELF && machine != own) {
            return "it is for " + nameOf(machine) + ", and this JVM is for " + nameOf(own) + ": take the artifact"
                    + " whose classifier names that";
        }
        return null;
    }

    /**
     * Returns a remedy for a library that does not load, or null if the directory may be the cause and another
     * one should be tried.
     *
     * @param dlopenError the result of {@link #dlopenError}
     */
    static String remedy(String property, String dlopenError) {
        return remedy(property, dlopenError, isMusl(ownMappings()));
    }

    static String remedy(String property, String dlopenError, boolean musl) {
        if (musl) {
            return "this JVM runs on musl, as in Alpine Linux, and the library is for glibc (" + dlopenError
                    + "): use an image with glibc, or build the library on musl and name its file by -D" + property;
        }
        Matcher glibc = GLIBC.matcher(dlopenError);
        if (glibc.find()) {
            return "this host's C library is too old (" + glibc.group() + " is wanted): use a system with glibc 2.28 or"
                    + " newer, such as Debian 11, Ubuntu 20.04 or RHEL 8, or build the library on this one and name its"
                    + " file by -D" + property;
        }
        return null;
    }

    /** Returns whether the mappings of a process contain the C library musl. */
    static boolean isMusl(String mappings) {
        return MUSL.matcher(mappings).find();
    }

    /** Returns the machine in an ELF header, or {@link #NO_ELF}. */
    static int machine(byte[] start) {
        if (start.length < ELF_HEADER_BYTES || ByteBuffer.wrap(start).getInt(0) != ELF_MAGIC) {
            return NO_ELF;
        }
        ByteOrder order = start[ELF_DATA_OFFSET] == ELF_LITTLE_ENDIAN ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN;
        return ByteBuffer.wrap(start).order(order).getShort(ELF_MACHINE_OFFSET) & 0xffff;
    }

    private static int ownMachine() {
        try (InputStream in = Files.newInputStream(Path.of("/proc/self/exe"))) {
            return machine(in.readNBytes(ELF_HEADER_BYTES));
        } catch (IOException e) {
            return NO_ELF;
        }
    }

    private static String ownMappings() {
        try {
            return Files.readString(Path.of("/proc/self/maps"));
        } catch (IOException e) {
            return "";
        }
    }

    private static String nameOf(int machine) {
        return switch (machine) {
            case 3 -> "32-bit x86";
            case 40 -> "32-bit Arm";
            case 62 -> "x86-64 (linux-x86_64)";
            case 183 -> "64-bit Arm (linux-aarch_64)";
            case 243 -> "RISC-V";
            default -> "ELF machine " + machine;
        };
    }
}
