package io.rdmaraw.tools.demo;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Runs a tool on two emulated ConnectX with a cable between them, as {@code ./rdma-raw hardware-check} does. */
final class EmulatedTool {
    private static final Path NATIVE = Path.of("..", "transport-rdma-raw-native").toAbsolutePath().normalize();
    private static final Path EMULATOR = NATIVE.resolve("target/native/emulator/libconnectx-emulator.so");

    private EmulatedTool() {
    }

    /** The end of a tool. */
    record Outcome(int exitCode, String output) {
        /** Parses the JSON object in the last line. */
        JsonNode json() throws IOException {
            return new ObjectMapper().readTree(output.lines().filter(line -> line.startsWith("{"))
                    .reduce((a, b) -> b).orElseThrow(() -> new AssertionError(output)));
        }
    }

    static Outcome run(Map<String, String> environment, List<String> jvmOptions, List<String> arguments)
            throws IOException, InterruptedException {
        assumeTrue(Files.exists(EMULATOR), "the emulator is not built in " + EMULATOR);
        List<String> command = new ArrayList<>(List.of(NATIVE.resolve("connectx-emulator/emulate.sh").toString(),
                "--library", EMULATOR.toString(), "--wire", "cable", "--wire", "cable", "--",
                Path.of(System.getProperty("java.home"), "bin/java").toString(), "--enable-native-access=ALL-UNNAMED"));
        command.addAll(jvmOptions);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), "io.rdmaraw.tools.Main"));
        command.addAll(arguments);
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().putAll(environment);
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Outcome(process.waitFor(), output);
    }
}
