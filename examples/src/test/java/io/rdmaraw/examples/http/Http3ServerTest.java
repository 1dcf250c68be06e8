package io.rdmaraw.examples.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.handler.codec.http.HttpMethod;
import io.rdmaraw.examples.Setup;
import io.rdmaraw.examples.Stage;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Sends requests to the HTTP/3 server with Netty's client over the kernel's UDP. */
@Timeout(120)
class Http3ServerTest {
    private static final int STREAMS = 50;

    private static Http3TestClient.Response get(CompletableFuture<Http3TestClient.Response> response)
            throws Exception {
        return response.get(60, TimeUnit.SECONDS);
    }

    @ParameterizedTest
    @EnumSource
    void servesAKernelClient(Setup setup) throws Exception {
        try (Stage stage = new Stage(setup)) {
            var server = stage.start(new Http3Server());
            try (Http3TestClient client = stage.clients().call(() -> new Http3TestClient(server))) {
                Http3TestClient.Response hello = get(client.send(HttpMethod.GET, "/plaintext", new byte[0]));
                assertEquals(200, hello.status());
                assertEquals("Hello, World!", new String(hello.content(), StandardCharsets.US_ASCII));
                assertEquals(404, get(client.send(HttpMethod.GET, "/nothing", new byte[0])).status());
                byte[] sent = Patterns.bytes(1_000_000);
                assertArrayEquals(sent, get(client.send(HttpMethod.GET, "/bytes/1000000", new byte[0])).content());
                assertArrayEquals(sent, get(client.send(HttpMethod.POST, "/echo", sent)).content());
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void servesManyStreamsAtOnce(Setup setup) throws Exception {
        try (Stage stage = new Stage(setup)) {
            var server = stage.start(new Http3Server());
            try (Http3TestClient client = stage.clients().call(() -> new Http3TestClient(server))) {
                List<CompletableFuture<Http3TestClient.Response>> responses = new ArrayList<>();
                for (int i = 0; i < STREAMS; i++) {
                    responses.add(client.send(HttpMethod.GET, "/bytes/" + i * 1000, new byte[0]));
                }
                for (int i = 0; i < STREAMS; i++) {
                    assertArrayEquals(Patterns.bytes(i * 1000), get(responses.get(i)).content());
                }
            }
        }
    }
}
