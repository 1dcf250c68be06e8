package io.rdmaraw.microbench.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * The time for which the threads of a server were runnable but waited for a core, from
 * {@code /proc/PID/task/TID/schedstat}. Another thread used the core then: a JIT compiler thread of the same JVM, or
 * another process. The delay is part of the measured latency with every transport.
 *
 * @param threads times of each thread since its start, by thread ID
 */
public record RunQueueDelay(Map<String, Times> threads) {
    /** The time that a thread ran on a core, and the time that it waited for one. */
    public record Times(long runNanos, long waitNanos) {
        Times since(Times before) {
            return new Times(runNanos - before.runNanos, waitNanos - before.waitNanos);
        }
    }

    private static final Times NOTHING = new Times(0, 0);

    /** Takes a snapshot of a process. The result is empty if the kernel does not count these times. */
    public static RunQueueDelay read(long pid) {
        Map<String, Times> threads = new HashMap<>();
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(Path.of("/proc", Long.toString(pid), "task"))) {
            for (Path task : tasks) {
                try {
                    threads.put(task.getFileName().toString(), times(Files.readString(task.resolve("schedstat"))));
                } catch (NoSuchFileException e) {
                    // The thread has ended, or the kernel does not count these times.
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new RunQueueDelay(threads);
    }

    /**
     * Parses the content of {@code schedstat}: nanoseconds on a core, nanoseconds waiting, and the number of time
     * slices.
     */
    static Times times(String schedstat) {
        String[] fields = schedstat.strip().split(" ");
        return new Times(Long.parseLong(fields[0]), Long.parseLong(fields[1]));
    }

    /**
     * Returns the time in seconds that the event loop waited for a core since the given snapshot, or NaN if the kernel
     * does not count it. The event loop is the thread with the most processor time since then.
     */
    public double busiestWaitedSecondsSince(RunQueueDelay before) {
        Times busiest = NOTHING;
        for (Map.Entry<String, Times> thread : threads.entrySet()) {
            Times spent = thread.getValue().since(before.threads.getOrDefault(thread.getKey(), NOTHING));
            if (spent.runNanos > busiest.runNanos) {
                busiest = spent;
            }
        }
        return busiest == NOTHING ? Double.NaN : busiest.waitNanos / 1e9;
    }
}
