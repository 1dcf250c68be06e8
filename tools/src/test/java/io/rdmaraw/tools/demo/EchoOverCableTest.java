package io.rdmaraw.tools.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Runs the echo steps of {@code ./rdma-raw hardware-check} on two emulated ConnectX with a cable between them, one step
 * for each way of driving a device. The result names the way that was used.
 */
@Timeout(180)
@Tag("slow")
class EchoOverCableTest {
    private static final Path NATIVE = Path.of("..", "transport-rdma-raw-native").toAbsolutePath().normalize();
    private static final Path EMULATOR = NATIVE.resolve("target/native/emulator/libconnectx-emulator.so");

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "never | false | never | false | calls",
        "auto  | false | never | false | rings",
        "auto  | false | never | true  | rings, multi-packet requests",
        "auto  | true  | never | false | rings, compressed completions",
        "auto  | false | auto  | false | rings, striding receive",
        "auto  | true  | auto  | false | rings, striding receive, compressed completions",
        "never | true  | auto  | true  | calls"})
    void framesComeBackByEveryWay(String directVerbs, boolean compressed, String striding, boolean multiPacket,
            String mode) throws Exception {
        JsonNode result = echo("-Dio.rdmaraw.directVerbs=" + directVerbs, "-Dio.rdmaraw.compressedCompletions="
                + compressed, "-Dio.rdmaraw.stridingReceive=" + striding, "-Dio.rdmaraw.multiPacketRequests="
                + multiPacket);
        assertEquals(mode, result.get("queues").asText());
        assertEquals(0, result.get("lost").asLong(), result.toString());
        assertEquals(0, result.get("corrupt").asLong(), result.toString());
        assertTrue(result.get("frames").asLong() > 100, result.toString());
    }

    private static JsonNode echo(String... properties) throws Exception {
        assumeTrue(Files.exists(EMULATOR), "the emulator is not built in " + EMULATOR);
        List<String> command = new ArrayList<>(List.of(NATIVE.resolve("connectx-emulator/emulate.sh").toString(),
                "--library", EMULATOR.toString(), "--wire", "cable", "--wire", "cable", "--",
                Path.of(System.getProperty("java.home"), "bin/java").toString(), "--enable-native-access=ALL-UNNAMED"));
        command.addAll(List.of(properties));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), "io.rdmaraw.tools.Main", "demo",
                "--device",
                "mlx5_0", "--echo-device", "mlx5_1", "--seconds", "1", "--window", "64", "--json"));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), output);
        return new ObjectMapper().readTree(output.lines().filter(line -> line.startsWith("{")).reduce((a, b) -> b)
                .orElseThrow(() -> new AssertionError(output)));
    }
}
