package io.rdmaraw.examples.conformance;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.examples.Setup;
import io.rdmaraw.examples.Stage;
import io.rdmaraw.examples.dns.DnsServer;
import io.rdmaraw.examples.http.Http2Server;
import io.rdmaraw.examples.http.Http3Server;
import io.rdmaraw.examples.http.HttpServer;
import io.rdmaraw.examples.server.ServerCommand;
import io.rdmaraw.examples.websocket.WebSocketServer;
import io.rdmaraw.testsuite.net.PeerProcess;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Third-party clients, with more demanding requests than in the ordinary tests with curl and dnsperf. */
@Tag("conformance")
@Timeout(900)
class ForeignClientsTest {
    private static final Duration LIMIT = Duration.ofMinutes(4);
    private static final int NAMES = 100_000;
    private static final int PATTERN_PERIOD = 251;
    /** The control message in strace's output. An old strace prints only its number. */
    private static final Pattern SUPER_DATAGRAM = Pattern.compile("cmsg_type=(UDP_SEGMENT|0x67)");

    private static byte[] pattern(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i % PATTERN_PERIOD);
        }
        return bytes;
    }

    private static String url(String scheme, Stage stage, ServerCommand server, String... options) throws Exception {
        InetSocketAddress at = stage.start(server, options);
        return scheme + "://" + at.getHostString() + ':' + at.getPort();
    }

    private static String node(Stage stage, String client, String url) {
        Stage.require("node:nodejs");
        Path modules = ForeignSuites.require("node/node_modules").getParent();
        return run(stage, "node", Path.of("src/test/node/foreign-clients.cjs").toAbsolutePath().toString(),
                modules.toString(), client, url).strip();
    }

    /** Like the method of the stage, but with a longer limit for busy machines. */
    private static String run(Stage stage, String... command) {
        try (PeerProcess process = stage.clients().start(command)) {
            return process.await(LIMIT).orThrow().output();
        }
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.INCLUDE, names = {"EPOLL_VETH", "RDMA_RAW_PACKET", "RDMA_RAW_XDP"})
    void undici(Setup setup) throws Exception {
        try (Stage stage = new Stage(setup)) {
            ForeignSuites.record("undici (node)", setup, "all",
                    node(stage, "undici", url("http", stage, new HttpServer())));
        }
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.INCLUDE, names = {"EPOLL_VETH", "RDMA_RAW_PACKET", "RDMA_RAW_XDP"})
    void autocannon(Setup setup) throws Exception {
        try (Stage stage = new Stage(setup)) {
            ForeignSuites.record("autocannon (node)", setup, "all",
                    node(stage, "autocannon", url("http", stage, new HttpServer())));
        }
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.INCLUDE, names = {"EPOLL_VETH", "RDMA_RAW_PACKET", "RDMA_RAW_XDP"})
    void ws(Setup setup) throws Exception {
        try (Stage stage = new Stage(setup)) {
            ForeignSuites.record("ws (node)", setup, "all",
                    node(stage, "ws", url("ws", stage, new WebSocketServer(), "--compression") + "/"));
        }
    }

    /**
     * Requests of curl: chunked upload, Expect: 100-continue, a slow reader, many transfers in parallel, and HTTP/2.
     */
    @ParameterizedTest
    @EnumSource(mode = Mode.INCLUDE, names = {"EPOLL_VETH", "RDMA_RAW_PACKET", "RDMA_RAW_XDP"})
    void curl(Setup setup, @TempDir Path directory) throws Exception {
        Stage.require("curl:curl");
        byte[] bytes = pattern(10_000_000);
        Path sent = Files.write(directory.resolve("sent"), bytes);
        Path got = directory.resolve("got");
        try (Stage stage = new Stage(setup)) {
            String plain = url("http", stage, new HttpServer());
            String secure = url("https", stage, new Http2Server());
            for (String site : List.of(plain, secure)) {
                curl(stage, "-H", "Transfer-Encoding: chunked", "--data-binary", "@" + sent, "-o", got.toString(),
                        "--http1.1", site + "/echo");
                assertArrayEquals(bytes, Files.readAllBytes(got));
                String talk = curl(stage, "-v", "--http1.1", "-H", "Expect: 100-continue", "--data-binary",
                        "@" + sent, "-o", got.toString(), "--stderr", "-", site + "/echo");
                assertTrue(talk.contains("HTTP/1.1 100 Continue"), talk);
                assertArrayEquals(bytes, Files.readAllBytes(got));
                curl(stage, "--limit-rate", "4M", "-o", got.toString(), site + "/bytes/" + bytes.length);
                assertArrayEquals(bytes, Files.readAllBytes(got));
                List<String> parallel = new ArrayList<>(List.of("--parallel", "--parallel-max", "30"));
                for (int i = 0; i < 100; i++) {
                    parallel.addAll(List.of("-o", directory.resolve("page" + i).toString(),
                            site + "/bytes/" + i * 997));
                }
                curl(stage, parallel.toArray(String[]::new));
                for (int i = 0; i < 100; i++) {
                    assertArrayEquals(pattern(i * 997), Files.readAllBytes(directory.resolve("page" + i)));
                }
            }
            assertEquals("100000000", curl(stage, "-o", "/dev/null", "-w", "%{size_download}",
                    plain + "/bytes/100000000"));
            assertEquals("2", curl(stage, "-o", "/dev/null", "-w", "%{http_version}", secure + "/json"));
        }
        ForeignSuites.record("curl", setup, "all",
                "chunked, expect-continue, slow reader, 100 at a time, 100 MB; HTTP/1.1, TLS, HTTP/2");
    }

    /** The client passes up to 64 KB of datagrams to its kernel at once. The trace must show this. */
    @ParameterizedTest
    @EnumSource(mode = Mode.INCLUDE, names = {"EPOLL_VETH", "RDMA_RAW_PACKET", "RDMA_RAW_XDP"})
    void curlByHttp3(Setup setup, @TempDir Path directory) throws Exception {
        Stage.require("strace:strace");
        byte[] bytes = pattern(20_000_000);
        String digest = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        Path sent = Files.write(directory.resolve("sent"), bytes);
        Path got = directory.resolve("got");
        Path trace = directory.resolve("trace");
        String[] http3 = {"strace", "-f", "-qq", "-e", "trace=sendmsg", "-o", trace.toString(),
                ForeignSuites.require("http3-curl/curl").toString(), "--http3-only", "-sSk",
                "--max-time", "200"};
        try (Stage stage = new Stage(setup)) {
            String site = url("https", stage, new Http3Server());
            run(stage, with(http3, "-o", got.toString(), site + "/bytes/" + bytes.length));
            assertArrayEquals(bytes, Files.readAllBytes(got));
            String answer = run(stage, with(http3, "--data-binary", "@" + sent, site + "/sha256")).strip();
            assertEquals(digest, answer);
            assertTrue(SUPER_DATAGRAM.matcher(Files.readString(trace)).find(), "the client has sent by UDP_SEGMENT");
        }
        ForeignSuites.record("curl, HTTP/3", setup, "all", "20 MB down and up, by UDP_SEGMENT");
    }

    /** ngtcp2's client: large transfers, key updates during a transfer, and lost datagrams. */
    @ParameterizedTest
    @EnumSource(mode = Mode.INCLUDE, names = {"EPOLL_VETH", "RDMA_RAW_PACKET", "RDMA_RAW_XDP"})
    void ngtcp2(Setup setup, @TempDir Path directory) throws Exception {
        Stage.require("gtlsclient:ngtcp2-client");
        byte[] bytes = pattern(20_000_000);
        Path sent = Files.write(directory.resolve("sent"), bytes);
        try (Stage stage = new Stage(setup)) {
            String site = url("https", stage, new Http3Server());
            Path got = fetchByNgtcp2(stage, directory, site + "/bytes/" + bytes.length, List.of());
            assertArrayEquals(bytes, Files.readAllBytes(got));
            Path withNewKeys = fetchByNgtcp2(stage, directory, site + "/bytes/" + bytes.length,
                    List.of("--key-update=100ms"));
            assertArrayEquals(bytes, Files.readAllBytes(withNewKeys));
            Path little = fetchByNgtcp2(stage, directory, site + "/bytes/500000", List.of("--tx-loss=0.03",
                    "--rx-loss=0.03"));
            assertArrayEquals(pattern(500_000), Files.readAllBytes(little));
            Path digest = fetchByNgtcp2(stage, directory, site + "/sha256", List.of("--http-method=POST",
                    "--data=" + sent));
            assertEquals(HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes)),
                    Files.readString(digest).strip());
        }
        ForeignSuites.record("ngtcp2's client, HTTP/3", setup, "all",
                "20 MB down and up, new keys on the way, 3 % of the datagrams lost");
    }

    private static Path fetchByNgtcp2(Stage stage, Path directory, String url, List<String> options)
            throws Exception {
        Path downloads = Files.createTempDirectory(directory, "got");
        URI uri = URI.create(url);
        List<String> command = new ArrayList<>(List.of("gtlsclient", "--quiet", "--exit-on-all-streams-close",
                "--download=" + downloads));
        command.addAll(options);
        command.addAll(List.of(uri.getHost(), Integer.toString(uri.getPort()), url));
        run(stage, command.toArray(String[]::new));
        return downloads.resolve(Path.of(uri.getPath()).getFileName());
    }

    private static String[] with(String[] command, String... more) {
        return Stream.of(command, more).flatMap(Stream::of).toArray(String[]::new);
    }

    private static String curl(Stage stage, String... arguments) {
        List<String> command = new ArrayList<>(List.of("curl", "-sSk", "--max-time", "200"));
        command.addAll(Arrays.asList(arguments));
        return run(stage, command.toArray(String[]::new));
    }

    @ParameterizedTest
    @EnumSource(mode = Mode.INCLUDE, names = {"EPOLL_VETH", "RDMA_RAW_PACKET", "RDMA_RAW_XDP"})
    void dnsperfWithManyNames(Setup setup, @TempDir Path directory) throws Exception {
        Stage.require("dnsperf:dnsperf");
        StringBuilder zone = new StringBuilder("""
                $ORIGIN many.test.
                $TTL 300
                @ SOA ns admin 1 7200 3600 1209600 60
                @ NS ns
                ns A 192.0.2.53
                """);
        StringBuilder questions = new StringBuilder();
        for (int i = 0; i < NAMES; i++) {
            zone.append("host").append(i).append(" A 10.").append(i >> 16).append('.').append(i >> 8 & 0xFF)
                    .append('.').append(i & 0xFF).append('\n');
            questions.append("host").append(i).append(".many.test A\n");
        }
        Path zoneFile = Files.writeString(directory.resolve("zone"), zone, StandardCharsets.US_ASCII);
        Path questionFile = Files.writeString(directory.resolve("questions"), questions, StandardCharsets.US_ASCII);
        try (Stage stage = new Stage(setup)) {
            InetSocketAddress at = stage.start(new DnsServer(), "--zone", zoneFile.toString());
            // Only a few queries at a time, because this test checks the answers. With more, datagrams could be dropped
            // where a queue is full.
            String report = run(stage, "dnsperf", "-s", at.getHostString(), "-p", Integer.toString(at.getPort()), "-d",
                    questionFile.toString(), "-n", "1", "-q", "16", "-t", "20");
            Matcher answered = Pattern.compile("Queries completed: +(\\d+)").matcher(report);
            assertTrue(answered.find(), report);
            assertEquals(NAMES, Integer.parseInt(answered.group(1)), report);
            Matcher codes = Pattern.compile("Response codes: +NOERROR (\\d+)").matcher(report);
            assertTrue(codes.find() && Integer.parseInt(codes.group(1)) == NAMES, report);
        }
        ForeignSuites.record("dnsperf", setup, "100,000 of 100,000 names", "one A record each");
    }
}
