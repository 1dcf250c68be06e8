package io.rdmaraw.microbench.process;

import io.rdmaraw.tools.command.ToolException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Pins this process and the programs that it starts to one core. A program may choose another core for itself. Without
 * pinning, the scheduler would run some of the work on the core of the server, where it would count as work of the
 * server.
 */
public final class ProcessAffinity implements AutoCloseable {
    private final String before;

    private ProcessAffinity(String before) {
        this.before = before;
    }

    /** Pins this process to a core until the result is closed. */
    public static ProcessAffinity pinnedTo(int core) {
        ProcessAffinity pinned = new ProcessAffinity(allowedCores());
        allow(Integer.toString(core));
        return pinned;
    }

    private static String allowedCores() {
        String name = "Cpus_allowed_list:";
        try {
            return Files.readAllLines(Path.of("/proc/self/status")).stream().filter(line -> line.startsWith(name))
                    .findFirst().orElseThrow().substring(name.length()).strip();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void allow(String cores) {
        String pid = Long.toString(ProcessHandle.current().pid());
        try {
            Process taskset = new ProcessBuilder("taskset", "-a", "-c", "-p", cores, pid)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD).redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            if (taskset.waitFor() != 0) {
                throw new ToolException("this process cannot run on core " + cores + ": is it allowed to?");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ToolException("interrupted", e);
        }
    }

    /** Restores the previous set of cores. */
    @Override
    public void close() {
        allow(before);
    }
}
