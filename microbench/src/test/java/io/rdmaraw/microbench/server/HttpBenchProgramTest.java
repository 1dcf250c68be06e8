package io.rdmaraw.microbench.server;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.microbench.server.LoadGenerator.Load;
import io.rdmaraw.tools.command.ToolException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The client that asks at a steady rate, against servers that are slow or silent. */
@Timeout(60)
class HttpBenchProgramTest {
    private static final Path PROGRAM = Path.of("target/native/http-bench");
    private static final double SECONDS = 0.3;
    private static final int RATE = 1_000;

    @BeforeAll
    static void theProgramIsBuilt() {
        assumeTrue(Files.isExecutable(PROGRAM), "the C programs have not been built here");
    }

    /** Answers requests, each when its number says. */
    private interface Server {
        /** Waits before an answer; returns false when there is to be none. */
        boolean mayAnswer(int number) throws InterruptedException;
    }

    private static void serve(Socket connection, Server server, AtomicInteger requests) {
        try (connection; BufferedReader in = new BufferedReader(new InputStreamReader(connection.getInputStream(),
                US_ASCII))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                if (line.isEmpty() && server.mayAnswer(requests.getAndIncrement())) {
                    connection.getOutputStream().write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
                            .getBytes(US_ASCII));
                }
            }
        } catch (IOException | InterruptedException end) {
            // The client went away.
        }
    }

    private static Load ask(int connections, Server server) throws Exception {
        AtomicInteger requests = new AtomicInteger();
        try (ServerSocket listener = new ServerSocket(0, connections, InetAddress.getLoopbackAddress())) {
            Thread.ofVirtual().start(() -> {
                try {
                    while (true) {
                        Socket connection = listener.accept();
                        Thread.ofVirtual().start(() -> serve(connection, server, requests));
                    }
                } catch (IOException closed) {
                    // The test is over.
                }
            });
            Process client = new ProcessBuilder(List.of(PROGRAM.toString(), "--address", "127.0.0.1", "--port",
                    Integer.toString(listener.getLocalPort()), "--connections", Integer.toString(connections),
                    "--rate", Integer.toString(RATE), "--seconds", Double.toString(SECONDS)))
                    .redirectErrorStream(true).start();
            String output = new String(client.getInputStream().readAllBytes(), US_ASCII);
            assertEquals(0, client.waitFor(), output);
            return PacedReport.read(output, SECONDS, 0);
        }
    }

    @Test
    void everyRequestThatIsDueIsAnswered() throws Exception {
        Load load = ask(8, number -> true);
        assertEquals(0, load.lost());
        assertEquals(RATE * SECONDS, load.answers(), RATE * SECONDS / 4, "the schedule is the same each time");
    }

    /** A closed loop would tell of one slow answer: all others were asked for when it had come. */
    @Test
    void whatAStandingServerHeldUpIsChargedToIt() throws Exception {
        Load load = ask(1, number -> {
            TimeUnit.NANOSECONDS.sleep(number == 0 ? (long) (SECONDS * 1e9) : 0);
            return true;
        });
        assertEquals(0, load.lost());
        assertTrue(load.figures().get(Measure.P50) > SECONDS * 1e6 / 4, load.toString());
    }

    @Test
    void requestsThatCouldNotBeSentAreLost() throws Exception {
        Load load = ask(2, number -> number < 100);
        assertEquals(100, load.answers());
        assertTrue(load.lost() > 100, load.toString());
        assertThrows(ToolException.class, () -> ask(1, number -> false));
    }
}
