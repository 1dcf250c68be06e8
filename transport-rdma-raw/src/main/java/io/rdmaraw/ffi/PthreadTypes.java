package io.rdmaraw.ffi;

import java.lang.foreign.Linker;

/**
 * Sizes of the C library's thread types, which are members of libibverbs structures
 * ({@code bits/pthreadtypes-arch.h} of glibc, {@code bits/alltypes.h} of musl). Only these members differ
 * between CPUs.
 */
public final class PthreadTypes {
    private static final boolean GLIBC = Linker.nativeLinker().defaultLookup().find("gnu_get_libc_version").isPresent();

    /** {@code sizeof(pthread_mutex_t)}. */
    public static final int MUTEX_BYTES = mutexBytes(System.getProperty("os.arch"), GLIBC);
    /** {@code sizeof(pthread_cond_t)} of glibc and musl, the same on every 64-bit CPU. */
    public static final int COND_BYTES = 48;

    private PthreadTypes() {
    }

    /** Returns {@code sizeof(pthread_mutex_t)}. It differs only in glibc on aarch64. */
    static int mutexBytes(String arch, boolean glibc) {
        return glibc && "aarch64".equals(arch) ? 48 : 40;
    }
}
