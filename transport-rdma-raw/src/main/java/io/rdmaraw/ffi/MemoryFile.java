package io.rdmaraw.ffi;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;

/** A file in memory that other interfaces read by a path (memfd_create(2)). */
final class MemoryFile {
    private static final int MFD_CLOEXEC = 0x1;
    /** The content may be executed. Known since Linux 6.3, where vm.memfd_noexec determines the default. */
    private static final int MFD_EXEC = 0x10;

    private MemoryFile() {
    }

    /**
     * Creates a file that exists as long as this process. Its descriptor is never closed: a later file could
     * otherwise get the same path, and the dynamic linker would reuse the library loaded from that path.
     *
     * @param name name shown in /proc/self/maps
     * @return the path, valid only in this process
     */
    static Path create(String name, byte[] content) throws IOException {
        int fd = create(name, MFD_CLOEXEC | MFD_EXEC);
        if (fd == -Errno.EINVAL) {
            // Kernels before 6.3 do not know the flag.
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
