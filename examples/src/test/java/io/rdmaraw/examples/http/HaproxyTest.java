package io.rdmaraw.examples.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.examples.Setup;
import io.rdmaraw.examples.Stage;
import io.rdmaraw.testsuite.net.Await;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** The HTTP/1.1 server behind haproxy, which keeps connections, opens new ones, and checks the server's health. */
@Timeout(120)
class HaproxyTest {
    private static final Duration START_LIMIT = Duration.ofSeconds(20);
    private static final String SITE = "http://127.0.0.1:8000";
    private static final String CONFIGURATION = """
            defaults
                mode http
                timeout connect 10s
                timeout client 30s
                timeout server 30s
            frontend front
                bind 127.0.0.1:8000
                default_backend kept
                use_backend fresh if { path /json }
            backend kept
                server ours %1$s check inter 100ms
            backend fresh
                http-reuse never
                option http-server-close
                server ours %1$s
            """;

    @ParameterizedTest
    @EnumSource(names = {"RDMA_RAW_PACKET", "RDMA_RAW_XDP"})
    void servesBehindHaproxy(Setup setup, @TempDir Path directory) throws Exception {
        Stage.require("haproxy:haproxy", "curl:curl", "wrk:wrk");
        try (Stage stage = new Stage(setup)) {
            InetSocketAddress at = stage.start(new HttpServer());
            Path file = Files.writeString(directory.resolve("haproxy.cfg"),
                    CONFIGURATION.formatted(at.getHostString() + ':' + at.getPort()));
            stage.clients().start("haproxy", "-db", "-f", file.toString());
            Await.until("haproxy to serve", START_LIMIT,
                    () -> stage.attempt("curl", "-sf", SITE + "/plaintext").exitCode() == 0);
            assertEquals("100000", stage.run("curl", "-sSf", "-o", "/dev/null", "-w", "%{size_download}",
                    SITE + "/bytes/100000"));
            for (String path : new String[] {"/plaintext", "/json"}) {
                String report = stage.run("wrk", "-t1", "-c32", "-d2s", SITE + path);
                assertFalse(report.contains("Non-2xx") || report.contains("Socket errors"), report);
                assertTrue(report.contains("requests in"), report);
            }
        }
    }
}
