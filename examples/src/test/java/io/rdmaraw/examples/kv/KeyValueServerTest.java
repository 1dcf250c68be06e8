package io.rdmaraw.examples.kv;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.examples.Setup;
import io.rdmaraw.examples.Stage;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.ArrayList;
import java.util.List;

/** Tests the key-value server with redis-cli and redis-benchmark. */
@Timeout(120)
class KeyValueServerTest {
    private static final String REDIS = "redis-cli:redis-tools";

    private static String cli(Stage stage, int port, String... words) {
        List<String> command = new ArrayList<>(List.of("redis-cli", "-h", stage.serverAddress(), "-p",
                Integer.toString(port)));
        command.addAll(List.of(words));
        return stage.run(command.toArray(String[]::new)).strip();
    }

    @ParameterizedTest
    @EnumSource
    void behavesAsRedis(Setup setup) throws Exception {
        Stage.require(REDIS);
        try (Stage stage = new Stage(setup)) {
            int port = stage.start(new KeyValueServer()).getPort();
            assertEquals("PONG", cli(stage, port, "ping"));
            assertEquals("", cli(stage, port, "get", "a"));
            assertEquals("OK", cli(stage, port, "set", "a", "41"));
            assertEquals("42", cli(stage, port, "incr", "a"));
            assertEquals("42", cli(stage, port, "get", "a"));
            assertEquals("2", cli(stage, port, "exists", "a", "b", "a"));
            assertEquals("-1", cli(stage, port, "ttl", "a"));
            assertEquals("1", cli(stage, port, "expire", "a", "100"));
            assertEquals("100", cli(stage, port, "ttl", "a"));
            assertEquals("1", cli(stage, port, "del", "a", "b"));
            assertEquals("OK", cli(stage, port, "set", "word", "x y\nz"));
            assertEquals("x y\nz", cli(stage, port, "get", "word"));
            assertEquals("ERR value is not an integer or out of range", cli(stage, port, "incr", "word"));
            assertEquals("ERR unknown command 'nonsense'", cli(stage, port, "nonsense"));
            assertEquals("ERR wrong number of arguments for 'get' command", cli(stage, port, "get"));
            assertTrue(cli(stage, port, "info").contains("db0:keys=1"));
        }
    }

    @ParameterizedTest
    @EnumSource
    void bearsRedisBenchmark(Setup setup) throws Exception {
        Stage.require("redis-benchmark:redis-tools");
        try (Stage stage = new Stage(setup)) {
            int port = stage.start(new KeyValueServer()).getPort();
            String report = stage.run("redis-benchmark", "-h", stage.serverAddress(), "-p", Integer.toString(port),
                    "-n", "20000", "-c", "20", "-P", "16", "-q", "-t", "ping,set,get,incr");
            assertFalse(report.contains("rror"), report);
            for (String test : List.of("PING_INLINE: ", "PING_MBULK: ", "SET: ", "GET: ", "INCR: ")) {
                assertTrue(report.contains(test), report);
            }
            // Each increment was executed exactly once.
            assertEquals("20000", cli(stage, port, "get", "counter:__rand_int__"));
        }
    }
}
