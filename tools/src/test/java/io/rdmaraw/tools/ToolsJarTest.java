package io.rdmaraw.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.tools.run.JavaCommand;
import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs the jar with all tools in an empty directory, with nothing but {@code java}. Maven builds the jar after the
 * other tests: {@code ./mvnw verify -pl tools}.
 */
@Tag("packaged")
@Timeout(180)
class ToolsJarTest {
    private static final Path JAR = Path.of(System.getProperty("all.jar",
            "target/all/netty-transport-rdma-raw-tools-0.1.0-SNAPSHOT-all.jar")).toAbsolutePath();
    private static final String JAVA = Path.of(System.getProperty("java.home"), "bin", "java").toString();

    @TempDir
    private Path directory;

    private record Run(int exitCode, String out, String err) {
    }

    @Test
    void versionNamesTheLibraryAndNetty() throws Exception {
        Run run = jar(List.of(), "--version");
        assertEquals(0, run.exitCode(), run.err());
        assertEquals(ToolRun.of("--version").out(), run.out());
        assertEquals("", run.err());
    }

    @Test
    void doctorLoadsTheNativeLibraryFromTheJar() throws Exception {
        Run run = jar(List.of(), "doctor", "-d", "soft:loop");
        assertEquals(0, run.exitCode(), run.out() + run.err());
        assertTrue(run.out().contains("a raw-packet queue pair is ready to send"), run.out());
        assertEquals("", run.err(), "a warning about native access");
    }

    @Test
    void framesPassBetweenEventLoops() throws Exception {
        Run run = jar(List.of(), "demo", "--seconds", "0.3");
        assertEquals(0, run.exitCode(), run.out() + run.err());
        assertTrue(run.out().contains("frames verified"), run.out());
    }

    @Test
    void ssAndTopShowARunningServer() throws Exception {
        List<String> command = new ArrayList<>(JavaCommand.of("io.rdmaraw.examples.Main"));
        command.addAll(List.of("http", "--port", "0", "--threads", "1", "--device", "soft:loop:jar"));
        Process server = new ProcessBuilder(command).redirectErrorStream(true).start();
        try (BufferedReader lines = server.inputReader()) {
            String line = lines.readLine();
            while (line != null && !line.contains("listening")) {
                line = lines.readLine();
            }
            assertTrue(line != null, "the server has ended");
            String pid = Long.toString(server.pid());
            Run ss = jar(List.of(), "ss", "-l", pid);
            assertEquals(0, ss.exitCode(), ss.err());
            assertTrue(ss.out().contains("LISTEN"), ss.out());
            Run top = jar(List.of(), "top", "-n", "1", "--interval", "0.2", pid);
            assertEquals(0, top.exitCode(), top.err());
            assertTrue(top.out().contains("soft:loop:jar"), top.out());
        } finally {
            server.destroyForcibly().waitFor();
        }
    }

    /** Runtimes without the tools of a JDK, such as images of a JRE, lack the module. */
    @Test
    void javaThatCannotAttachIsExplained() throws Exception {
        Run run = jar(List.of("--limit-modules", "java.se,jdk.management,jdk.net,jdk.unsupported"), "top", "1");
        assertEquals(1, run.exitCode(), run.out() + run.err());
        assertTrue(run.err().startsWith("rdma-raw: this Java runtime has no module jdk.attach"), run.err());
        assertEquals(1, run.err().lines().count(), run.err());
    }

    private Run jar(List<String> options, String... arguments) throws Exception {
        assertTrue(Files.exists(JAR), "Maven has not built " + JAR + ": ./mvnw verify -pl tools");
        List<String> command = new ArrayList<>(List.of(JAVA));
        command.addAll(options);
        command.addAll(List.of("-jar", JAR.toString()));
        command.addAll(List.of(arguments));
        Path out = directory.resolve("out");
        Path err = directory.resolve("err");
        ProcessBuilder builder = new ProcessBuilder(command).directory(directory.toFile()).redirectOutput(out.toFile())
                .redirectError(err.toFile());
        builder.environment().clear();
        int exitCode = builder.start().waitFor();
        return new Run(exitCode, Files.readString(out), Files.readString(err));
    }
}
