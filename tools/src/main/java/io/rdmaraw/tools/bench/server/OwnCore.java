package io.rdmaraw.tools.bench.server;

import io.rdmaraw.tools.ToolException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Keeps this process and the programs that it starts on one core, unless they choose another, so that none of its work
 * is counted as that of the server on the other core: a core that has time left draws what else there is to do.
 */
final class OwnCore implements AutoCloseable {
    private final String before;

    private OwnCore(String before) {
        this.before = before;
    }

    static OwnCore pinnedTo(int core) {
        OwnCore pinned = new OwnCore(allowedCores());
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

    /** Gives the process back the cores that it had. */
    @Override
    public void close() {
        allow(before);
    }
}
