package io.rdmaraw.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.examples.dns.DnsServer;
import io.rdmaraw.examples.http.HttpServer;
import io.rdmaraw.examples.kv.KeyValueServer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The commands in README.md print the output shown there. The tests use free ports, because the default ports may be in
 * use.
 */
@Timeout(120)
class ReadmeCommandsTest {
    private static final Pattern CONSOLE = Pattern.compile("```console\n(.*?)```", Pattern.DOTALL);

    /** A command and its expected output. */
    private record Step(String command, String output) {
    }

    private static List<Step> steps(String program) throws Exception {
        List<Step> steps = new ArrayList<>();
        Matcher block = CONSOLE.matcher(Files.readString(Path.of("README.md")));
        while (block.find()) {
            for (String step : block.group(1).split("(?m)^\\$ ")) {
                if (step.startsWith(program + ' ')) {
                    int end = step.indexOf('\n');
                    steps.add(new Step(step.substring(0, end), step.substring(end + 1)));
                }
            }
        }
        assertTrue(!steps.isEmpty(), "README.md has commands of " + program);
        return steps;
    }

    private static void check(Stage stage, String program, String from, String to) throws Exception {
        for (Step step : steps(program)) {
            String command = step.command().replaceFirst(from, to);
            assertEquals(step.output().strip(), stage.run("sh", "-c", command).strip(), command);
        }
    }

    @Test
    void dns() throws Exception {
        Stage.require("dig:bind9-dnsutils");
        try (Stage stage = new Stage(Setup.RDMA_RAW_LOOP)) {
            check(stage, "dig", "-p 5353", "-p " + stage.start(new DnsServer()).getPort());
        }
    }

    @Test
    void http() throws Exception {
        Stage.require("curl:curl");
        try (Stage stage = new Stage(Setup.EPOLL)) {
            InetSocketAddress at = stage.start(new HttpServer());
            check(stage, "curl", ":8080", ":" + at.getPort());
        }
    }

    @Test
    void redis() throws Exception {
        Stage.require("redis-cli:redis-tools");
        try (Stage stage = new Stage(Setup.EPOLL)) {
            check(stage, "redis-cli", "redis-cli", "redis-cli -p " + stage.start(new KeyValueServer()).getPort());
        }
    }
}
