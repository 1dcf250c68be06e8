package io.rdmaraw.examples.frameworks;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.ProgramOverVeth;
import io.rdmaraw.testsuite.net.TestNetwork;
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

/**
 * Starts the example servers as their documentation does and sends them requests with curl over a veth pair. Also runs
 * the Redis client.
 */
@WithTestNetwork
@Timeout(300)
class FrameworkServersTest {
    private static final int PORT = 8080;
    private static final int REDIS = 6379;
    private static final int REQUESTS = 20;

    private ProgramOverVeth program;

    @BeforeEach
    void makeNetwork(TestNetwork network) {
        program = new ProgramOverVeth(network);
    }

    private PeerProcess start(Class<?> server) {
        return program.start(server.getName(), "is listening on", "--device", program.device(), "--address",
                program.address(), "--port", String.valueOf(PORT));
    }

    private String url(String path) {
        return "http://" + program.address() + ":" + PORT + path;
    }

    private void assertSaysHello(PeerProcess server, String path) {
        for (int i = 0; i < REQUESTS; i++) {
            assertEquals("Hello, World!", program.curl(url(path)), server::output);
        }
        program.checkOnDeviceAlone();
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
        assertSaysHello(program.start(SpringBootServer.class.getName(), "Started SpringBootServer", "--rdmaraw.device="
                + program.device(), "--rdmaraw.loops=1", "--server.address=" + program.address(), "--server.port="
                + PORT), "/hello");
    }

    @Test
    void micronaut() {
        assertSaysHello(program.start(MicronautServer.class.getName(), "micronaut is listening on", "-rdmaraw.device="
                + program.device(), "-micronaut.server.host=" + program.address(), "-micronaut.server.port=" + PORT),
                "/hello");
    }

    @Test
    void lettuce() {
        assumeTrue(program.peer().attempt("redis-server", "--version").exitCode() == 0,
                "redis-server is not installed");
        try (PeerProcess redis = program.peer().start("redis-server", "--port", String.valueOf(REDIS), "--bind",
                program.peerAddress(), "--save", "", "--protected-mode", "no")) {
            redis.awaitOutput("Ready to accept connections", Await.PATIENCE);
            PeerProcess client = program.start(LettuceClient.class.getName(), "Hello, World!", "--device",
                    program.device(), "--address", program.peerAddress(), "--port", String.valueOf(REDIS));
            assertEquals(0, client.await(Await.PATIENCE).exitCode(), client::output);
            // Loops of this transport print a message if the kernel carries a connection.
            assertTrue(client.output().lines().noneMatch(line -> line.contains("LEAK") || line.contains("NIO")),
                    client::output);
        }
    }

    /** If the server refuses the connection, the loops and the program end. */
    @Test
    void lettuceWithoutServer() {
        PeerProcess client = program.start(LettuceClient.class.getName(), "Connection refused", "--device",
                program.device(), "--address", program.peerAddress(), "--port", String.valueOf(REDIS));
        assertEquals(1, client.await(Await.PATIENCE).exitCode(), client::output);
    }

    private static byte[] grpcMessage(String text) {
        ByteArrayOutputStream message = new ByteArrayOutputStream();
        // The header of a message: not compressed, length in four bytes.
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
            program.curl("--http2-prior-knowledge", "-H", "Content-Type: application/grpc", "-H", "TE: trailers",
                    "--data-binary", "@" + request, "-o", answer.toString(), url("/hello/Say"));
            assertArrayEquals(grpcMessage("Hello, curl!"), Files.readAllBytes(answer), server::output);
        }
        program.checkOnDeviceAlone();
    }
}
