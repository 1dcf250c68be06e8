package io.rdmaraw.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * Compiles and runs a small C program: the compiler's view of the headers is the reference for our constants.
 * The system properties {@code rdmaraw.cc} and {@code rdmaraw.run} select another compiler than {@code cc} and
 * a launcher for its programs, because the JVM may run on another CPU than the host.
 */
public final class CProgram {
    private static final String COMPILER = System.getProperty("rdmaraw.cc", "cc");
    private static final String RUNNER = System.getProperty("rdmaraw.run");

    private CProgram() {
    }

    /**
     * Returns the lines printed by the program. Fails if it does not compile; skips the test only if there is
     * no compiler.
     */
    public static List<String> run(String source) throws IOException, InterruptedException {
        assumeTrue(compilerExists(), "there is no C compiler (" + COMPILER + ")");
        Path directory = Files.createTempDirectory("cprogram");
        try {
            Path file = Files.writeString(directory.resolve("program.c"), source);
            Path program = directory.resolve("program");
            execute(List.of(COMPILER, "-std=gnu11", "-Wall", "-Werror", "-o", program.toString(), file.toString()));
            return execute(RUNNER == null ? List.of(program.toString()) : List.of(RUNNER, program.toString())).lines()
                    .toList();
        } finally {
            try (Stream<Path> files = Files.list(directory)) {
                for (Path file : files.toList()) {
                    Files.delete(file);
                }
            }
            Files.delete(directory);
        }
    }

    private static boolean compilerExists() {
        return Stream.of(System.getenv("PATH").split(":")).anyMatch(p -> Files.isExecutable(Path.of(p, COMPILER)));
    }

    private static String execute(List<String> command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes());
        assertEquals(0, process.waitFor(), () -> command + " failed:\n" + output);
        return output;
    }
}
