package io.rdmaraw.examples.tcp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.rdmaraw.examples.Stage;

import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Random;
import java.util.concurrent.FutureTask;

/** A client that writes on one thread, ends its output, and reads on another until the server ends too. */
final class Halves {
    private static final int BYTES = 20_000_000;
    private static final int WRITE_BYTES = 100_000;

    private Halves() {
    }

    static void check(Stage stage, InetSocketAddress server) throws Exception {
        byte[] sent = new byte[BYTES];
        new Random(1).nextBytes(sent);
        try (Socket socket = stage.clients().call(() -> new Socket(server.getAddress(), server.getPort()))) {
            FutureTask<byte[]> received = new FutureTask<>(() -> socket.getInputStream().readAllBytes());
            Thread.ofVirtual().start(received);
            for (int i = 0; i < BYTES; i += WRITE_BYTES) {
                socket.getOutputStream().write(sent, i, WRITE_BYTES);
            }
            socket.shutdownOutput();
            assertArrayEquals(sent, received.get());
        }
    }
}
