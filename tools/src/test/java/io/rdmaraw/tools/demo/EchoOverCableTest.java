package io.rdmaraw.tools.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;
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
        EmulatedTool.Outcome outcome = EmulatedTool.run(Map.of(), List.of(properties), List.of("demo", "--device",
                "mlx5_0", "--echo-device", "mlx5_1", "--seconds", "1", "--window", "64", "--json"));
        assertEquals(0, outcome.exitCode(), outcome.output());
        return outcome.json();
    }
}
