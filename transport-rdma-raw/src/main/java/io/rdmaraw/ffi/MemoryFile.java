package io.rdmaraw.ffi;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;

/** A file without a directory: memory of this process that other interfaces read by a path (memfd_create(2)). */
final class MemoryFile {
    private static final int MFD_CLOEXEC = 0x1;
    /** The content may be run. Linux knows it from 6.3 on, where vm.memfd_noexec chooses what holds without it. */
    private static final int MFD_EXEC = 0x10;

    private MemoryFile() {
    }

    /**
     * Creates a file. It lives as long as this process: were its descriptor closed, a later file could get the same
     * path, and the dynamic linker takes a path that it knows for the library that it has.
     *
     * @param name  what /proc/self/maps shows
     * @return its path, for this process only
     */
    static Path create(String name, byte[] content) throws IOException {
        int fd = create(name, MFD_CLOEXEC | MFD_EXEC);
        if (fd == -Errno.EINVAL) {
            // Older kernels do not know the flag.
            fd = create(name, MFD_CLOEXEC);
        }
        if (fd < 0) {
            throw new IOException("memfd_create: " + Errno.describe(-fd));
        }
        Path path = Path.of("/proc/self/fd/" + fd);
        try {
            Files.write(path, content);
        } catch (IOException e) {
            Libc.close(fd);
            throw e;
        }
        return path;
    }

    private static int create(String name, int flags) {
        try (Arena arena = Arena.ofConfined()) {
            return Libc.memfdCreate(arena.allocateFrom(name).address(), flags);
        }
    }
}
