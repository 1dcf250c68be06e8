package io.rdmaraw.microbench.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ProcessAffinityTest {
    @Test
    void allThreadsAndProgramsAreOnOneCoreWhileItLasts() throws IOException, InterruptedException {
        String before = allowed(Path.of("/proc/self/status"));
        String first = before.split("[-,]")[0];

        try (ProcessAffinity _ = ProcessAffinity.pinnedTo(Integer.parseInt(first))) {
            assertEquals(Set.of(first), allowedOfThreads());
            Process program = new ProcessBuilder("grep", "Cpus_allowed_list", "/proc/self/status").start();
            assertEquals(first, allowed(List.of(new String(program.getInputStream().readAllBytes()))));
            program.waitFor();
        }

        assertEquals(Set.of(before), allowedOfThreads());
    }

    private static Set<String> allowedOfThreads() throws IOException {
        try (Stream<Path> threads = Files.list(Path.of("/proc/self/task"))) {
            return threads.map(thread -> thread.resolve("status")).flatMap(ProcessAffinityTest::linesOf)
                    .map(ProcessAffinityTest::allowed).collect(Collectors.toSet());
        }
    }

    /** Returns the lines of a thread's status, or nothing if the thread has ended. */
    private static Stream<List<String>> linesOf(Path status) {
        try {
            return Stream.of(Files.readAllLines(status));
        } catch (IOException ended) {
            return Stream.empty();
        }
    }

    private static String allowed(Path status) {
        try {
            return allowed(Files.readAllLines(status));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String allowed(List<String> status) {
        return status.stream().filter(line -> line.startsWith("Cpus_allowed_list:")).findFirst().orElseThrow()
                .split(":")[1].strip();
    }
}
