package io.rdmaraw.examples.tcp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmaraw.examples.Stage;

import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Random;
import java.util.concurrent.FutureTask;

/** A client that writes much data on one thread and reads it back on another. */
final class Uploads {
    private static final int BYTES = 20_000_000;
    private static final int WRITE_BYTES = 100_000;

    private Uploads() {
    }

    /** @param endsFirst whether the client closes its output after writing and reads until the server closes its own */
    static void check(Stage stage, InetSocketAddress server, boolean endsFirst) throws Exception {
        byte[] sent = new byte[BYTES];
        new Random(1).nextBytes(sent);
        try (Socket socket = stage.clients().call(() -> new Socket(server.getAddress(), server.getPort()))) {
            InputStream in = socket.getInputStream();
            FutureTask<byte[]> received =
                    new FutureTask<>(() -> endsFirst ? in.readAllBytes() : in.readNBytes(BYTES));
            Thread.ofVirtual().start(received);
            for (int i = 0; i < BYTES; i += WRITE_BYTES) {
                socket.getOutputStream().write(sent, i, WRITE_BYTES);
            }
            if (endsFirst) {
                socket.shutdownOutput();
            }
            assertArrayEquals(sent, received.get());
            if (!endsFirst) {
                socket.shutdownOutput();
            }
            assertEquals(-1, in.read(), "the server ends too");
        }
    }
}
