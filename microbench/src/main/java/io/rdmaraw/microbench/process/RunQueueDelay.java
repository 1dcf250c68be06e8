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
 * How long a server was ready to run while another thread had its core, from {@code /proc/PID/task/TID/schedstat}: the
 * compilers of its own JVM, or other processes. That delay is part of its latencies with every transport.
 *
 * @param threads what has been counted of each thread since its start
 */
public record RunQueueDelay(Map<String, Times> threads) {
    /** Time on a core, and time ready for one. */
    public record Times(long runNanos, long waitNanos) {
        Times since(Times before) {
            return new Times(runNanos - before.runNanos, waitNanos - before.waitNanos);
        }
    }

    private static final Times NOTHING = new Times(0, 0);

    /** Reads the times of a process. The result is empty if the kernel does not count them. */
    public static RunQueueDelay read(long pid) {
        Map<String, Times> threads = new HashMap<>();
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(Path.of("/proc", Long.toString(pid), "task"))) {
            for (Path task : tasks) {
                try {
                    threads.put(task.getFileName().toString(), times(Files.readString(task.resolve("schedstat"))));
                } catch (NoSuchFileException e) {
                    // The thread has ended, or the kernel counts nothing.
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new RunQueueDelay(threads);
    }

    /** Parses a line of schedstat: nanoseconds on a core, nanoseconds ready, and the number of time slices. */
    static Times times(String schedstat) {
        String[] fields = schedstat.strip().split(" ");
        return new Times(Long.parseLong(fields[0]), Long.parseLong(fields[1]));
    }

    /**
     * Returns how long the thread with the most processor time since then, which is the event loop, waited for its
     * core; NaN if the kernel does not count it.
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
