package io.rdmaraw.microbench.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** Reads the processor time of the JIT compilers of a JVM from {@code /proc}. */
public final class CompilerTime {
    private static final double TICKS_PER_SECOND = 100;
    /**
     * Indexes of user and system time, counted from the field after the name of the thread, which is in parentheses.
     */
    private static final int USER = 11;
    private static final int SYSTEM = 12;

    private CompilerTime() {
    }

    /** Returns the processor time that the JIT compiler threads of a process have used so far, in seconds. */
    public static double seconds(long pid) {
        double seconds = 0;
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(Path.of("/proc", Long.toString(pid), "task"))) {
            for (Path thread : threads) {
                seconds += secondsOfThread(thread.resolve("stat"));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return seconds;
    }

    private static double secondsOfThread(Path stat) throws IOException {
        try {
            return secondsIn(Files.readString(stat));
        } catch (NoSuchFileException ended) {
            return 0;
        }
    }

    /**
     * Returns the processor time of a thread from its {@code stat} file, in seconds, or 0 if it is no compiler thread.
     */
    static double secondsIn(String stat) {
        int end = stat.lastIndexOf(')');
        String name = stat.substring(stat.indexOf('(') + 1, end);
        if (!name.startsWith("C1 Compiler") && !name.startsWith("C2 Compiler")) {
            return 0;
        }
        String[] fields = stat.substring(end + 2).split(" ");
        return (Long.parseLong(fields[USER]) + Long.parseLong(fields[SYSTEM])) / TICKS_PER_SECOND;
    }
}
