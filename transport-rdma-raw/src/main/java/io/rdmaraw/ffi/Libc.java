package io.rdmaraw.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;

/**
 * Functions of the C library. As in {@link NativeCall}, functions with a result return the negated error number
 * on failure.
 */
public final class Libc {
    public static final int PROT_READ = 1;
    public static final int PROT_WRITE = 2;
    public static final int MAP_SHARED = 0x01;
    public static final int MAP_PRIVATE = 0x02;
    public static final int MAP_ANONYMOUS = 0x20;
    public static final int MAP_POPULATE = 0x8000;
    public static final int MAP_HUGETLB = 0x40000;
    /** For {@code madvise}: use transparent huge pages. */
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
     * Returns the address of a C function. A preloaded library ({@code LD_PRELOAD}) takes precedence, because
     * libibverbs calls it, too, and both must see the same kernel.
     */
    public static long address(String function) {
        try (Arena arena = Arena.ofConfined()) {
            long found = NativeCall.pointer(DLSYM, RTLD_DEFAULT, arena.allocateFrom(function).address());
            return NativeCall.isError(found) ? LOOKUP.findOrThrow(function).address() : found;
        }
    }

    /** Allocates zeroed memory with an alignment of 16 bytes. It must be freed with {@link #free}. */
    public static long allocateZeroed(long lengthBytes) {
        long address = NativeCall.pointer(CALLOC, 1, lengthBytes);
        if (NativeCall.isError(address)) {
            throw new OutOfMemoryError("calloc of " + lengthBytes + " bytes of native memory failed");
        }
        return address;
    }

    /** Frees memory from {@link #allocateZeroed}. Ignores 0. */
    public static void free(long address) {
        NativeCall.status(FREE, address);
    }

    /** Reads up to {@code lengthBytes} bytes. Returns the number of bytes, or the negated error number. */
    public static long read(int fd, long address, long lengthBytes) {
        return NativeCall.value(READ, fd, address, lengthBytes);
    }

    /** Writes up to {@code lengthBytes} bytes. Returns the number of bytes, or the negated error number. */
    public static long write(int fd, long address, long lengthBytes) {
        return NativeCall.value(WRITE, fd, address, lengthBytes);
    }

    /** Closes a file descriptor. Returns 0 or the error number. */
    public static int close(int fd) {
        return NativeCall.status(CLOSE, fd);
    }

    /** Makes a descriptor non-blocking. Returns 0 or the error number. */
    public static int setNonBlocking(int fd) {
        // fcntl is variadic, but on x86-64 and aarch64 Linux its third argument is still passed in the third
        // register.
        int flags = NativeCall.intValue(FCNTL, fd, F_GETFL, 0);
        if (flags < 0) {
            return -flags;
        }
        return Math.max(0, -NativeCall.intValue(FCNTL, fd, F_SETFL, flags | O_NONBLOCK));
    }

    /** Duplicates a descriptor. Returns the new descriptor, or the negated error number. */
    public static int duplicate(int fd) {
        // fcntl is variadic; see setNonBlocking.
        return NativeCall.intValue(FCNTL, fd, F_DUPFD_CLOEXEC, 0);
    }

    /**
     * Makes a descriptor refer to the open file of another descriptor, and closes its previous file. Returns 0
     * or the error number.
     */
    public static int replace(int fd, int by) {
        return Math.max(0, -NativeCall.intValue(DUP3, by, fd, O_CLOEXEC));
    }

    /** Changes the mode of a file. Returns 0 or the error number. */
    public static int fchmod(int fd, int mode) {
        return NativeCall.status(FCHMOD, fd, mode);
    }

    /** Returns the effective user ID of the process. */
    public static int effectiveUid() {
        return NativeCall.intValue(GETEUID, 0, 0, 0);
    }

    /** Maps memory. Returns its address, or the negated error number. */
    public static long mmap(long address, long lengthBytes, int protection, int flags, int fd, long offset) {
        return NativeCall.value(MMAP, address, lengthBytes, protection, flags, fd, offset);
    }

    /** Unmaps memory. Returns 0 or the error number. */
    public static int munmap(long address, long lengthBytes) {
        return NativeCall.status(MUNMAP, address, lengthBytes);
    }

    /** Advises the kernel about a mapping. Returns 0 or the error number. */
    public static int madvise(long address, long lengthBytes, int advice) {
        return NativeCall.status(MADVISE, address, lengthBytes, advice);
    }

    static int eventfd(int initialValue, int flags) {
        return NativeCall.intValue(EVENTFD, initialValue, flags, 0);
    }

    /** Creates a file in memory. Returns its descriptor, or the negated error number. */
    static int memfdCreate(long name, int flags) {
        return NativeCall.intValue(MEMFD_CREATE, name, flags, 0);
    }

    static int ppoll(long pollFds, int count, long timespec) {
        return NativeCall.intValue(PPOLL, pollFds, count, timespec, 0);
    }
}
