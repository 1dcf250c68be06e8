package io.rdmaraw.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A program with the agent runs on a JDK image without the modules that are optional for the transport. */
@Timeout(240)
class MinimalImageTest {
    @TempDir
    private Path directory;

    private static String run(List<String> command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), output);
        return output;
    }

    /** The image lacks jdk.net, java.management and jdk.jfr. */
    @Test
    void theAgentPutsAProgramOnTheDevice() throws Exception {
        String home = System.getProperty("java.home");
        Path image = directory.resolve("image");
        run(List.of(Path.of(home, "bin", "jlink").toString(), "--add-modules",
                "java.base,java.instrument,java.logging,jdk.unsupported", "--output", image.toString()));
        List<String> command = new ArrayList<>(AgentJar.java(
                List.of(new AgentJar(directory).option("device=soft:loop:image")), "program.OldNetty"));
        command.set(0, image.resolve("bin").resolve("java").toString());
        String output = run(command);
        assertTrue(output.contains("rdma-raw agent: on, with Netty 4.2"), output);
        assertTrue(output.contains("rdma-raw agent: it is not in JMX"), output);
        assertTrue(output.contains("echo: hello") && output.contains("done"), output);
        assertFalse(output.contains("\tat "), output);
    }
}
