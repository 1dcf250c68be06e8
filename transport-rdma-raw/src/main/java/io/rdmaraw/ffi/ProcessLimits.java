package io.rdmaraw.ffi;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The soft resource limits of this process; see getrlimit(2). */
public final class ProcessLimits {
    private static final Path LIMITS = Path.of("/proc/self/limits");
    private static final String OPEN_FILES = "Max open files";
    private static final String LOCKED_MEMORY = "Max locked memory";
    /** Linux's default for a process. */
    private static final int DEFAULT_OPEN_FILES = 1024;

    private ProcessLimits() {
    }

    /** Returns the maximum number of open descriptors (RLIMIT_NOFILE), or 1024 if it cannot be read. */
    public static int openFiles() {
        try {
            return Math.clamp(Long.parseLong(soft(OPEN_FILES)), 0, Integer.MAX_VALUE);
        } catch (IOException | NumberFormatException e) {
            return DEFAULT_OPEN_FILES;
        }
    }

    /** Returns the limit of locked memory (RLIMIT_MEMLOCK) as text: {@code 8388608 bytes} or {@code unlimited}. */
    public static String describeLockedMemory() {
        try {
            String soft = soft(LOCKED_MEMORY);
            return soft.equals("unlimited") ? soft : soft + " bytes";
        } catch (IOException e) {
            return "unknown (" + LIMITS + ": " + e.getMessage() + ")";
        }
    }

    private static String soft(String name) throws IOException {
        for (String line : Files.readAllLines(LIMITS)) {
            if (line.startsWith(name)) {
                return line.substring(name.length()).trim().split(" +")[0];
            }
        }
        throw new IOException("no line '" + name + "'");
    }
}
