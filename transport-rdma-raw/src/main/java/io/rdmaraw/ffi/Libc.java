package io.rdmaraw.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;

/**
 * The few functions of the C library that this project needs. Results follow {@link NativeCall}: where a function gives
 * a value, an error is the negated error number.
 */
public final class Libc {
    public static final int PROT_READ = 1;
    public static final int PROT_WRITE = 2;
    public static final int MAP_SHARED = 0x01;
    public static final int MAP_PRIVATE = 0x02;
    public static final int MAP_ANONYMOUS = 0x20;
    public static final int MAP_POPULATE = 0x8000;
    public static final int MAP_HUGETLB = 0x40000;
    /** {@code madvise}: use transparent huge pages. */
    public static final int MADV_HUGEPAGE = 14;
    static final int EFD_CLOEXEC = 0x80000;
    static final int EFD_NONBLOCK = 0x800;
    private static final int F_GETFL = 3;
    private static final int F_SETFL = 4;
    private static final int F_DUPFD_CLOEXEC = 1030;
    private static final int O_NONBLOCK = 0x800;
    private static final int O_CLOEXEC = 0x80000;

    /** {@code RTLD_DEFAULT} of dlsym(3). */
    private static final long RTLD_DEFAULT = 0;

    private static final SymbolLookup LOOKUP = Linker.nativeLinker().defaultLookup();
    private static final long DLSYM = LOOKUP.findOrThrow("dlsym").address();
    private static final long EVENTFD = address("eventfd");
    private static final long READ = address("read");
    private static final long WRITE = address("write");
    private static final long CLOSE = address("close");
    private static final long FCNTL = address("fcntl");
    private static final long DUP3 = address("dup3");
    private static final long FCHMOD = address("fchmod");
    private static final long GETEUID = address("geteuid");
    private static final long PPOLL = address("ppoll");
    private static final long MMAP = address("mmap");
    private static final long MUNMAP = address("munmap");
    private static final long MADVISE = address("madvise");
    private static final long MEMFD_CREATE = address("memfd_create");
    private static final long CALLOC = address("calloc");
    private static final long FREE = address("free");

    private Libc() {
    }

    /**
     * Returns the address of a function of the C library, or of the preloaded library that stands in for it
     * ({@code LD_PRELOAD}): libibverbs calls that one, and both are to see the same kernel.
     */
    public static long address(String function) {
        try (Arena arena = Arena.ofConfined()) {
            long found = NativeCall.pointer(DLSYM, RTLD_DEFAULT, arena.allocateFrom(function).address());
            return NativeCall.isError(found) ? LOOKUP.findOrThrow(function).address() : found;
        }
    }

    /** Allocates zeroed memory, aligned to 16 bytes, that lives until {@link #free}. */
    public static long allocateZeroed(long lengthBytes) {
        long address = NativeCall.pointer(CALLOC, 1, lengthBytes);
        if (NativeCall.isError(address)) {
            throw new OutOfMemoryError("calloc of " + lengthBytes + " bytes of native memory failed");
        }
        return address;
    }

    /** Frees memory from {@link #allocateZeroed}; 0 is ignored. */
    public static void free(long address) {
        NativeCall.status(FREE, address);
    }

    /** Reads up to {@code lengthBytes} bytes; returns how many, or the negated error number. */
    public static long read(int fd, long address, long lengthBytes) {
        return NativeCall.value(READ, fd, address, lengthBytes);
    }

    /** Writes up to {@code lengthBytes} bytes; returns how many, or the negated error number. */
    public static long write(int fd, long address, long lengthBytes) {
        return NativeCall.value(WRITE, fd, address, lengthBytes);
    }

    /** Closes a file descriptor; returns 0 or the error number. */
    public static int close(int fd) {
        return NativeCall.status(CLOSE, fd);
    }

    /** Makes reads of the descriptor give EAGAIN instead of blocking; returns 0 or the error number. */
    public static int setNonBlocking(int fd) {
        // fcntl is variadic: on x86-64 and on aarch64 Linux its third argument still travels in the third register.
        int flags = NativeCall.intValue(FCNTL, fd, F_GETFL, 0);
        if (flags < 0) {
            return -flags;
        }
        return Math.max(0, -NativeCall.intValue(FCNTL, fd, F_SETFL, flags | O_NONBLOCK));
    }

    /** Makes a second descriptor of what a descriptor is of; returns it or the negated error number. */
    public static int duplicate(int fd) {
        // As to variadic functions, see setNonBlocking.
        return NativeCall.intValue(FCNTL, fd, F_DUPFD_CLOEXEC, 0);
    }

    /** Makes a descriptor one of what another is of, and closes what it was of; returns 0 or the error number. */
    public static int replace(int fd, int by) {
        return Math.max(0, -NativeCall.intValue(DUP3, by, fd, O_CLOEXEC));
    }

    /** Changes the mode of a file; returns 0 or the error number. */
    public static int fchmod(int fd, int mode) {
        return NativeCall.status(FCHMOD, fd, mode);
    }

    /** Returns the user that the process acts as. */
    public static int effectiveUser() {
        return NativeCall.intValue(GETEUID, 0, 0, 0);
    }

    /** Maps memory; returns its address or the negated error number. */
    public static long mmap(long address, long lengthBytes, int protection, int flags, int fd, long offset) {
        return NativeCall.value(MMAP, address, lengthBytes, protection, flags, fd, offset);
    }

    /** Unmaps memory; returns 0 or the error number. */
    public static int munmap(long address, long lengthBytes) {
        return NativeCall.status(MUNMAP, address, lengthBytes);
    }

    /** Gives the kernel advice on a mapping; returns 0 or the error number. */
    public static int madvise(long address, long lengthBytes, int advice) {
        return NativeCall.status(MADVISE, address, lengthBytes, advice);
    }

    static int eventfd(int initialValue, int flags) {
        return NativeCall.intValue(EVENTFD, initialValue, flags, 0);
    }

    /** Creates a file in memory; returns its descriptor or the negated error number. */
    static int memfdCreate(long name, int flags) {
        return NativeCall.intValue(MEMFD_CREATE, name, flags, 0);
    }

    static int ppoll(long pollFds, int count, long timespec) {
        return NativeCall.intValue(PPOLL, pollFds, count, timespec, 0);
    }
}
