package io.rdmaraw.examples.frameworks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The servers as their readers start them, asked by curl over a veth pair. */
@WithTestNetwork
@Timeout(300)
class FrameworkServersTest {
    private static final int PORT = 8080;
    private static final int REQUESTS = 20;

    private VethPair pair;
    private NetworkNamespace peer;

    @BeforeEach
    void makeNetwork(TestNetwork network) {
        pair = network.vethPair(network.namespace(), network.namespace());
        peer = pair.peer().namespace();
    }

    private static String jdk(String program) {
        return Path.of(System.getProperty("java.home"), "bin", program).toString();
    }

    private PeerProcess start(Class<?> server, String ready, String... options) {
        List<String> command = new ArrayList<>(List.of(jdk("java"), "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dio.netty.leakDetection.level=paranoid", "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                server.getName()));
        command.addAll(List.of(options));
        PeerProcess process = pair.ours().namespace().start(command.toArray(String[]::new));
        process.awaitOutput(ready, Await.PATIENCE.multipliedBy(2));
        return process;
    }

    private PeerProcess start(Class<?> server) {
        return start(server, "is listening on", "--device", "soft:xdp:" + pair.ours().name(), "--address",
                pair.ours().ipv4(), "--port", String.valueOf(PORT));
    }

    private String url(String path) {
        return "http://" + pair.ours().ipv4() + ":" + PORT + path;
    }

    private String curl(String... arguments) {
        List<String> command = new ArrayList<>(List.of("curl", "-sS", "-m", "30"));
        command.addAll(List.of(arguments));
        return peer.run(command.toArray(String[]::new)).output();
    }

    private void assertSaysHello(PeerProcess server, String path) {
        for (int i = 0; i < REQUESTS; i++) {
            assertEquals("Hello, World!", curl(url(path)), server::output);
        }
        assertOnDeviceAlone(server);
    }

    /** Of all objects that were not collected yet. */
    private void assertOnDeviceAlone(PeerProcess server) {
        String classes = peer.run(jdk("jcmd"), String.valueOf(server.pid()), "GC.class_histogram", "-all").output();
        assertTrue(classes.contains("io.rdmaraw.channel.RdmaRawServerSocketChannel\n"), classes);
        assertTrue(classes.contains("io.rdmaraw.channel.RdmaRawSocketChannel\n"), classes);
        assertFalse(classes.contains("NioSocketChannel\n") || classes.contains("EpollSocketChannel\n"), classes);
        assertFalse(server.output().contains("LEAK"), server::output);
    }

    @Test
    void vertx() {
        assertSaysHello(start(VertxServer.class), "/");
    }

    @Test
    void reactorNetty() {
        assertSaysHello(start(ReactorNettyServer.class), "/");
    }

    @Test
    void springBoot() {
        assertSaysHello(start(SpringBootServer.class, "Started SpringBootServer", "--rdmaraw.device=soft:xdp:"
                + pair.ours().name(), "--rdmaraw.loops=1", "--server.address=" + pair.ours().ipv4(), "--server.port="
                + PORT), "/hello");
    }

    private static byte[] grpcMessage(String text) {
        ByteArrayOutputStream message = new ByteArrayOutputStream();
        // Not compressed; the length in four bytes.
        message.writeBytes(new byte[] {0, 0, 0, 0, (byte) text.length()});
        message.writeBytes(text.getBytes(StandardCharsets.US_ASCII));
        return message.toByteArray();
    }

    @Test
    void grpc(@TempDir Path directory) throws IOException {
        PeerProcess server = start(GrpcServer.class);
        Path request = Files.write(directory.resolve("request"), grpcMessage("curl"));
        Path answer = directory.resolve("answer");
        for (int i = 0; i < REQUESTS; i++) {
            curl("--http2-prior-knowledge", "-H", "Content-Type: application/grpc", "-H", "TE: trailers",
                    "--data-binary", "@" + request, "-o", answer.toString(), url("/hello/Say"));
            assertArrayEquals(grpcMessage("Hello, curl!"), Files.readAllBytes(answer), server::output);
        }
        assertOnDeviceAlone(server);
    }
}
