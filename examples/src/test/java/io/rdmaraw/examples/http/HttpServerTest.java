package io.rdmaraw.examples.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.EventLoopGroup;
import io.rdmaraw.examples.Setup;
import io.rdmaraw.examples.Stage;
import io.rdmaraw.testsuite.net.PeerProcess;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Sends requests to the HTTP/1.1 server with curl, wrk, and a client that pipelines. */
@Timeout(120)
class HttpServerTest {
    private static final int PIPELINED = 100;
    private static final int WRK_CONNECTIONS = 64;
    private static final int MAX_WRK_RUNS = 10;

    private static String start(Stage stage) throws Exception {
        InetSocketAddress at = stage.start(new HttpServer());
        return "http://" + at.getHostString() + ':' + at.getPort();
    }

    @ParameterizedTest
    @EnumSource
    void servesCurl(Setup setup, @TempDir Path directory) throws Exception {
        Stage.require("curl:curl");
        try (Stage stage = new Stage(setup)) {
            Curl.checkSite(stage, start(stage), directory, "--http1.1");
        }
    }

    /**
     * With settings that other programs use, the server gives the same responses, and all its event loops end with it.
     */
    @ParameterizedTest
    @ValueSource(strings = {"--allocator=pooled", "--allocator=heap", "--boss-group"})
    void servesCurlWithTheSettingsOfOtherPrograms(String setting, @TempDir Path directory) throws Exception {
        Stage.require("curl:curl");
        HttpServer server = new HttpServer();
        try (Stage stage = new Stage(Setup.RDMA_RAW_XDP)) {
            InetSocketAddress at = stage.start(server, setting);
            Curl.checkSite(stage, "http://" + at.getHostString() + ':' + at.getPort(), directory, "--http1.1");
        }
        assertTrue(server.groups().stream().allMatch(EventLoopGroup::isTerminated));
        assertEquals(setting.equals("--boss-group") ? 2 : 1, server.groups().size());
    }

    @ParameterizedTest
    @EnumSource
    void answersPipelinedRequestsInOrder(Setup setup) throws Exception {
        try (Stage stage = new Stage(setup)) {
            InetSocketAddress at = stage.start(new HttpServer());
            StringBuilder requests = new StringBuilder();
            for (int i = 0; i < PIPELINED; i++) {
                requests.append("GET /bytes/").append(i).append(" HTTP/1.1\r\nHost: x\r\n")
                        .append(i == PIPELINED - 1 ? "Connection: close\r\n" : "").append("\r\n");
            }
            try (Socket socket = stage.clients().call(() -> new Socket(at.getAddress(), at.getPort()))) {
                socket.getOutputStream().write(requests.toString().getBytes(StandardCharsets.US_ASCII));
                String all = new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
                Matcher length = Pattern.compile("content-length: (\\d+)\r\n").matcher(all);
                for (int i = 0; i < PIPELINED; i++) {
                    assertTrue(length.find(), all);
                    assertEquals(i, Integer.parseInt(length.group(1)));
                }
                assertFalse(length.find());
                assertTrue(all.endsWith(new String(Patterns.bytes(PIPELINED - 1), StandardCharsets.ISO_8859_1)));
            }
        }
    }

    /**
     * Runs wrk until one run has had more answers than connections. On a busy machine a server answers nothing in its
     * first seconds. By default, wrk counts answers after more than two seconds as errors.
     */
    private static void wrk(Stage stage, String site) {
        String report = "";
        int answers = 0;
        for (int runs = 0; runs < MAX_WRK_RUNS && answers <= WRK_CONNECTIONS; runs++) {
            report = stage.run("wrk", "-t1", "-c" + WRK_CONNECTIONS, "-d2s", "--timeout", "60s", site + "/plaintext");
            assertFalse(report.contains("Socket errors") || report.contains("Non-2xx"), report);
            Matcher count = Pattern.compile("(\\d+) requests in").matcher(report);
            assertTrue(count.find(), report);
            answers = Integer.parseInt(count.group(1));
        }
        assertTrue(answers > WRK_CONNECTIONS, report);
    }

    @ParameterizedTest
    @EnumSource
    void bearsWrk(Setup setup) throws Exception {
        Stage.require("wrk:wrk");
        try (Stage stage = new Stage(setup)) {
            wrk(stage, start(stage));
        }
    }

    /** haproxy reuses connections, and checks the server's health with connections that it resets. */
    @ParameterizedTest
    @EnumSource(mode = Mode.INCLUDE, names = {"EPOLL_VETH", "RDMA_RAW_PACKET", "RDMA_RAW_XDP"})
    void servesHaproxy(Setup setup, @TempDir Path directory) throws Exception {
        Stage.require("haproxy:haproxy", "curl:curl", "wrk:wrk");
        try (Stage stage = new Stage(setup)) {
            InetSocketAddress at = stage.start(new HttpServer());
            Path settings = Files.writeString(directory.resolve("haproxy.cfg"), """
                    defaults
                      mode http
                      timeout connect 10s
                      timeout client 60s
                      timeout server 60s
                      timeout check 20s
                    listen site
                      bind %s:8080
                      option httpchk GET /plaintext
                      http-reuse always
                      server ours %s:%d check inter 500ms fall 4
                    """.formatted(stage.clientAddress(), at.getHostString(), at.getPort()));
            try (PeerProcess haproxy = stage.clients().start("haproxy", "-W", "-db", "-f", settings.toString())) {
                String site = "http://" + stage.clientAddress() + ":8080";
                haproxy.awaitOutput("Loading success", Duration.ofSeconds(20));
                Curl.checkSite(stage, site, directory, "--http1.1");
                wrk(stage, site);
                assertFalse(haproxy.output().contains("DOWN"), haproxy::output);
            }
        }
    }

    /** Checks the pages of the site with curl, for any version of HTTP. */
    static final class Curl {
        private static final int LONG_UPLOAD_BYTES = Site.MAX_REQUEST_BYTES + 1_000_000;

        private Curl() {
        }

        static void checkSite(Stage stage, String site, Path directory, String... options) throws Exception {
            assertEquals("Hello, World!", get(stage, site + "/plaintext", options));
            assertEquals("{\"message\":\"Hello, World!\"}", get(stage, site + "/json", options));
            assertEquals("404", get(stage, site + "/nothing", with(options, "-o", "/dev/null", "-w", "%{http_code}")));
            assertEquals("405", get(stage, site + "/echo", with(options, "-o", "/dev/null", "-w", "%{http_code}")));
            assertTrue(get(stage, site + "/json", with(options, "-I")).contains("content-length: 27"));
            byte[] pattern = Patterns.bytes(3_000_000);
            Path got = directory.resolve("got");
            get(stage, site + "/bytes/" + pattern.length, with(options, "-o", got.toString()));
            assertArrayEquals(pattern, Files.readAllBytes(got));
            Path posted = Files.write(directory.resolve("posted"), pattern);
            get(stage, site + "/echo", with(options, "--data-binary", "@" + posted, "-o", got.toString()));
            assertArrayEquals(pattern, Files.readAllBytes(got));
            checkUpload(stage, site, directory, options);
        }

        /** Uploads more than the server buffers of a request. */
        private static void checkUpload(Stage stage, String site, Path directory, String... options) throws Exception {
            byte[] content = Patterns.bytes(LONG_UPLOAD_BYTES);
            Path file = Files.write(directory.resolve("upload"), content);
            assertEquals(HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content)),
                    get(stage, site + "/sha256", with(options, "--data-binary", "@" + file)));
            assertEquals("405", get(stage, site + "/sha256", with(options, "-o", "/dev/null", "-w", "%{http_code}")));
        }

        private static String[] with(String[] options, String... more) {
            String[] all = java.util.Arrays.copyOf(options, options.length + more.length);
            System.arraycopy(more, 0, all, options.length, more.length);
            return all;
        }

        private static String get(Stage stage, String url, String... options) {
            String[] command = with(new String[] {"curl", "-sS", "--max-time", "60"}, with(options, url));
            return stage.run(command);
        }
    }
}
