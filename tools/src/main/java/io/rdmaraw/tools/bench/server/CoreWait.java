package io.rdmaraw.tools.bench.server;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * How long a server was ready to run while something else had its core, as {@code /proc/PID/task/TID/schedstat} tells
 * it: compilers of its own JVM, and whatever else the machine does there. That time is in its latencies, whatever
 * transport it has.
 *
 * @param threads what has been counted of each thread since its start
 */
record CoreWait(Map<String, Times> threads) {
    /** On a core, and ready for one. */
    record Times(long runNanos, long waitNanos) {
        Times since(Times before) {
            return new Times(runNanos - before.runNanos, waitNanos - before.waitNanos);
        }
    }

    private static final Times NOTHING = new Times(0, 0);

    /** Reads the times of a process; of no thread where the kernel does not count them. */
    static CoreWait read(long pid) {
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
        return new CoreWait(threads);
    }

    /** Reads the kernel's line: nanoseconds on a core, nanoseconds ready, and how often it got one. */
    static Times times(String schedstat) {
        String[] fields = schedstat.strip().split(" ");
        return new Times(Long.parseLong(fields[0]), Long.parseLong(fields[1]));
    }

    /** Returns how long the thread waited that ran most since then, which is the server's loop; NaN if not counted. */
    double busiestWaitedSecondsSince(CoreWait before) {
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
