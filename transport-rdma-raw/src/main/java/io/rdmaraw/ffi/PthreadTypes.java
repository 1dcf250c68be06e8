package io.rdmaraw.ffi;

import java.lang.foreign.Linker;

/**
 * Sizes of the C library's thread types, which lie in structures of libibverbs ({@code bits/pthreadtypes-arch.h} of
 * glibc, {@code bits/alltypes.h} of musl). They are the only part of these structures that differs between processors.
 */
public final class PthreadTypes {
    private static final boolean GLIBC = Linker.nativeLinker().defaultLookup().find("gnu_get_libc_version").isPresent();

    /** {@code sizeof(pthread_mutex_t)}. */
    public static final int MUTEX_BYTES = mutexBytes(System.getProperty("os.arch"), GLIBC);
    /** {@code sizeof(pthread_cond_t)}: of glibc and musl, on every processor of 64 bits. */
    public static final int COND_BYTES = 48;

    private PthreadTypes() {
    }

    /** Glibc has its own size on aarch64, musl one for all processors of 64 bits. */
    static int mutexBytes(String arch, boolean glibc) {
        return glibc && "aarch64".equals(arch) ? 48 : 40;
    }
}
