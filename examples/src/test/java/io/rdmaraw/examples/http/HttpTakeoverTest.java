package io.rdmaraw.examples.http;

import io.rdmaraw.examples.Main;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.testsuite.net.NetworkNamespace;
import io.rdmaraw.testsuite.net.PeerProcess;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.testsuite.net.VethPair;
import io.rdmaraw.testsuite.net.WithTestNetwork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

/** The upgrade commands in docs/guide/upgrades.md: the second process takes over, and the first one exits. */
@Timeout(180)
@WithTestNetwork
class HttpTakeoverTest {
    private static final int PORT = 8080;

    @TempDir
    private Path directory;

    private PeerProcess start(VethPair pair) {
        List<String> command = new ArrayList<>(List.of(ProcessHandle.current().info().command().orElseThrow(),
                "--enable-native-access=ALL-UNNAMED", "-XX:TieredStopAtLevel=1"));
        String softverbs = System.getProperty("io.rdmaraw.softverbs.path");
        if (softverbs != null) {
            command.add("-Dio.rdmaraw.softverbs.path=" + softverbs);
        }
        command.addAll(List.of("-cp", System.getProperty("surefire.test.class.path",
                System.getProperty("java.class.path")), Main.class.getName(), "http", "--device",
                "soft:packet:" + pair.ours().name(), "--address", pair.ours().ipv4(), "--takeover",
                directory.resolve("http.sock").toString(), "--drain-seconds", "60"));
        PeerProcess server = pair.ours().namespace().start(command.toArray(String[]::new));
        server.awaitOutput("is listening on", Await.PATIENCE);
        return server;
    }

    private static Socket connect(NetworkNamespace clients, String address) throws Exception {
        return clients.call(() -> {
            Socket socket = new Socket();
            socket.setSoTimeout(Await.PATIENCE_MILLIS);
            socket.connect(new InetSocketAddress(InetAddress.ofLiteral(address), PORT), Await.PATIENCE_MILLIS);
            return socket;
        });
    }

    /** Sends a request on a persistent connection and returns the response's headers. */
    private static String ask(Socket socket, BufferedReader in) throws IOException {
        socket.getOutputStream().write("GET /plaintext HTTP/1.1\r\nHost: example\r\n\r\n"
                .getBytes(StandardCharsets.US_ASCII));
        StringBuilder headers = new StringBuilder();
        int contentLength = 0;
        for (String line = in.readLine(); !line.isEmpty(); line = in.readLine()) {
            headers.append(line.toLowerCase(Locale.ROOT)).append('\n');
            if (line.toLowerCase(Locale.ROOT).startsWith("content-length:")) {
                contentLength = Integer.parseInt(line.substring(line.indexOf(':') + 1).strip());
            }
        }
        char[] content = new char[contentLength];
        for (int read = 0; read < contentLength;) {
            read += in.read(content, read, contentLength - read);
        }
        assertEquals("Hello, World!", new String(content));
        return headers.toString();
    }

    private static BufferedReader reader(Socket socket) throws IOException {
        return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
    }

    @Test
    void aConnectionThatIsKeptEndsWithAResponse(TestNetwork network) throws Exception {
        VethPair pair = network.withoutCapture().vethPair(network.namespace(), network.namespace());
        NetworkNamespace clients = pair.peer().namespace();
        PeerProcess first = start(pair);
        try (Socket kept = connect(clients, pair.ours().ipv4()); BufferedReader in = reader(kept)) {
            assertFalse(ask(kept, in).contains("connection: close"), "the first process serves");
            PeerProcess second = start(pair);
            // The first process learns of the takeover shortly after the second one reports it.
            while (!ask(kept, in).contains("connection: close")) {
                assertTrue(first.isAlive(), first::output);
            }
            assertEquals(-1, in.read(), "the end of the connection");
            // Until the client closes its end, the server's end is in FIN-WAIT-2.
            kept.shutdownOutput();
            assertEquals(0, first.await(Await.PATIENCE).exitCode(), first::output);
            try (Socket next = connect(clients, pair.ours().ipv4()); BufferedReader nextIn = reader(next)) {
                assertFalse(ask(next, nextIn).contains("connection: close"), second::output);
            }
        }
    }
}
