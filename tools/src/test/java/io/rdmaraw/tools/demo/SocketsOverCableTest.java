package io.rdmaraw.tools.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Runs the step {@code sockets} of {@code ./rdma-raw hardware-check} on cards that are right, and on wrong ones. */
@Timeout(300)
@Tag("slow")
class SocketsOverCableTest {
    private static EmulatedTool.Outcome sockets(String mutant) throws Exception {
        return EmulatedTool.run(Map.of("CONNECTX_EMULATOR_MUTANT", mutant), List.of(), List.of("demo", "sockets",
                "--device", "mlx5_0", "--echo-device", "mlx5_1", "--json"));
    }

    @Test
    void connectionsAndDatagramsComeBackFromAllLoops() throws Exception {
        EmulatedTool.Outcome outcome = sockets("");
        assertEquals(0, outcome.exitCode(), outcome.output());
        List<String> checks = new ArrayList<>();
        outcome.json().get("checks").forEach(check -> checks.add(check.get("check").asText() + ' '
                + check.get("family").asText() + ' ' + check.get("loops").asInt()));
        assertEquals(List.of("tcp IPV4 2", "tcp-bulk IPV4 1", "udp IPV4 2", "tcp IPV6 2", "tcp-bulk IPV6 1",
                "udp IPV6 2"), checks);
    }

    /** Frames come back from these cards, so that the other steps find nothing. */
    @ParameterizedTest
    @CsvSource({"segments-alike, tcp-bulk", "one-queue-of-several, tcp",
        "one-queue-of-several, udp"})
    void wrongCardFailsTheStep(String mutant, String check) throws Exception {
        EmulatedTool.Outcome outcome = sockets(mutant);
        assertNotEquals(0, outcome.exitCode(), outcome.output());
        boolean named = false;
        for (JsonNode result : outcome.json().get("checks")) {
            named |= result.get("check").asText().equals(check) && !result.get("failure").asText().isEmpty();
        }
        assertTrue(named, outcome.output());
    }
}
